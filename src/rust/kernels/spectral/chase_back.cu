// arch: sm_60
// The product Q of the reflectors of chase.cu, applied without tensor cores; see chase_back.cuh.
#include "chase_back.cuh"

namespace {

// Packed steps: V by rows, and V T by columns.
struct PlainPlace {
    static constexpr int V = 2 * B * B, SIZE = 2 * V;
    static __device__ __forceinline__ int v(int i, int c) { return i * B + c; }
    static __device__ __forceinline__ int vt(int i, int c) { return V + c * 2 * B + i; }
};

template <typename T>
struct __align__(16) Four {
    T x[4];
};

// 8M columns of Z for each warp.
template <typename T, int M>
struct Back {
    using Place = PlainPlace;
    static constexpr int N = B / 16, LD = 8 * M + 16 / (int)sizeof(T);

    // Halves of a step's rows of Z, of which the older one is replaced, and X = V'Z.
    struct Warp {
        T z[2 * B * LD], x[B * LD];
    };
    struct Shared {
        T step[Place::V];  // V or V T
        Warp warps[1];     // as many as the block has
    };

    int lane, g, q, n, columns;
    i64 ldz;
    T* at;  // row 0 of the warp's first column
    Shared& shared;
    Warp& m;

    __device__ __forceinline__ Back(Shared& memory)
        : lane(threadIdx.x & 31),
          g(lane >> 2),
          q(lane & 3),
          shared(memory),
          m(memory.warps[threadIdx.x >> 5]) {}

    // Rows r0 to r0 + B - 1, to a half and from it.
    __device__ __forceinline__ void load(int half, int r0) {
        constexpr int TOGETHER = 8;  // loads under way
        T* to = m.z + half * B * LD;
#pragma unroll 1
        for (int first = lane; first < B * 8 * M; first += 32 * TOGETHER) {
            T x[TOGETHER];
#pragma unroll
            for (int u = 0; u < TOGETHER; ++u) {
                const int e = first + 32 * u, i = e % B, c = e / B;
                x[u] = r0 + i < n && c < columns ? at[r0 + i + c * ldz] : T(0);
            }
#pragma unroll
            for (int u = 0; u < TOGETHER; ++u) {
                const int e = first + 32 * u;
                to[e % B * LD + e / B] = x[u];
            }
        }
        __syncwarp();
    }
    __device__ __forceinline__ void store(int half, int r0) {
        const T* from = m.z + half * B * LD;
#pragma unroll 4
        for (int e = lane; e < B * 8 * M; e += 32) {
            const int i = e % B, c = e / B;
            if (r0 + i < n && c < columns) at[r0 + i + c * ldz] = from[i * LD + c];
        }
        __syncwarp();
    }

    // Copies V or V T to shared memory.
    __device__ __forceinline__ void stage(const T* from) {
        constexpr int ALL = Place::V / 4, TOGETHER = 8;
        const auto* source = reinterpret_cast<const Four<T>*>(from);
        auto* to = reinterpret_cast<Four<T>*>(shared.step);
        const int threads = blockDim.x;
        __syncthreads();
#pragma unroll 1
        for (int first = threadIdx.x; first < ALL; first += threads * TOGETHER) {
            Four<T> x[TOGETHER];
#pragma unroll
            for (int u = 0; u < TOGETHER; ++u) x[u] = source[min(first + u * threads, ALL - 1)];
#pragma unroll
            for (int u = 0; u < TOGETHER; ++u)
                if (first + u * threads < ALL) to[first + u * threads] = x[u];
        }
        __syncthreads();
    }

    // Y += A'C for B rows of A and of C, of which A has 8M columns and C has B. A lane has rows g +
    // 8i of Y, and columns 4q to 4q + 3 of each 16.
    __device__ __forceinline__ void multiply(T (&y)[M][N][4], const T* a, const T* c, int ldc) {
        a += g, c += 4 * q;
#pragma unroll 4
        for (int k = 0; k < B; ++k, a += LD, c += ldc) {
            T av[M];
#pragma unroll
            for (int i = 0; i < M; ++i) av[i] = a[8 * i];
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const Four<T> cv = *reinterpret_cast<const Four<T>*>(c + 16 * j);
#pragma unroll
                for (int i = 0; i < M; ++i)
#pragma unroll
                    for (int e = 0; e < 4; ++e) y[i][j][e] += av[i] * cv.x[e];
            }
        }
    }

    // Y' to `to`, or added to what is there.
    template <bool ADD>
    __device__ __forceinline__ void put(const T (&y)[M][N][4], T* to) {
        to += 4 * q * LD + g;
#pragma unroll
        for (int i = 0; i < M; ++i)
#pragma unroll
            for (int j = 0; j < N; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    T& z = to[(16 * j + e) * LD + 8 * i];
                    z = ADD ? z + y[i][j][e] : y[i][j][e];
                }
        __syncwarp();
    }

    __device__ __forceinline__ void project(int older) {
        T x[M][N][4] = {};
#pragma unroll 1
        for (int h = 0; h < 2; ++h)
            multiply(x, m.z + (h ^ older) * B * LD, shared.step + h * B * B, B);
        put<false>(x, m.x);
    }

    __device__ __forceinline__ void subtract(int older) {
#pragma unroll 1
        for (int h = 0; h < 2; ++h) {
            T y[M][N][4] = {};
            multiply(y, m.x, shared.step + h * B, 2 * B);
            put<true>(y, m.z + (h ^ older) * B * LD);
        }
    }

    __device__ __forceinline__ void run(Groups<1> groups, int nz, const T* packed, T* z, i64 ld) {
        const int c = (blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5)) * 8 * M;
        n = groups.n, columns = nz - c, ldz = ld, at = z + c * ld;
#pragma unroll 1
        for (int group = 0; group < groups.count; ++group) {
            int r0 = groups.row(group);
            load(0, r0);
#pragma unroll 1
            for (int k = 0; k < groups.steps(group); ++k, r0 += B, packed += Place::SIZE) {
                const int older = k & 1;
                load(older ^ 1, r0 + B);
                stage(packed);
                project(older);
                stage(packed + Place::V);
                subtract(older);
                store(older, r0);
            }
        }
    }
};

}  // namespace

#define APPLYING(T, M, SUFFIX)                                                                   \
    extern "C" __global__ void __launch_bounds__(128, 2) chase_apply_group32_##SUFFIX(           \
        int n, int nz, int first, int count, const T* packed, T* z, i64 ldz) {                   \
        auto* memory = shared_memory<Back<T, M>::Shared>();                                      \
        Back<T, M>(*memory).run(Groups<1>{n, first, count}, nz, packed, z, ldz);                 \
    }

PACKING(PlainPlace, double, 1, f64)
PACKING(PlainPlace, float, 1, f32)
APPLYING(double, 1, f64)
APPLYING(float, 2, f32)
