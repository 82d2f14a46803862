// Memory of large results, kept after R has freed it.
//
// The system hands out fresh memory page by page as it is first written. That takes at least as
// long as a copy of the matrix from a GPU. So the memory of a large result is kept for the next one
// when R collects it. At most a part of the machine's memory is kept, and the system may take it
// back when it is short of memory (MADV_FREE). A Cholesky factorization of order 65536 on four H200
// takes 0.67 s with memory that is kept, 1.2 s with new memory.
//
// R does not count this memory towards the next collection, so collections are started here: a
// light one whenever a span of bytes has been handed out, a full one when twice as much is in use
// as after the last.
#include "results.h"
#include <R_ext/Rallocators.h>

#ifdef __linux__

#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// Smaller vectors are R's own: malloc() keeps their memory by itself.
#define LARGE ((size_t)1 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define BLOCKS 1024

// The header before each block's memory. It has padding, so that the memory is aligned.
typedef struct {
  void *mapped;
  size_t bytes;  // of the mapping
  size_t room;   // from the memory on
} Block;
#define HEAD ((size_t)64)

static Block *kept[BLOCKS];
static size_t count = 0, bytes_kept = 0;

// Bytes of results that R has not collected, after the last full collection too, and handed out
// since the last one of any kind.
static size_t alive = 0, alive_after_full = 0, handed_out = 0;

#define SPAN_LEAST ((size_t)1 << 26)
#define SPAN_MOST ((size_t)1 << 30)

// Looked at each time: a virtual machine's memory may grow.
static size_t part_of_memory(size_t divisor) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (size_t)pages / divisor * (size_t)size : LARGE;
}

// Nothing where the process has a limit of address space, which R's own memory needs, too.
static size_t most_kept(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return 0;
  return part_of_memory(4);
}

// Before so many bytes are handed out, and not while R allocates.
static void look_for_garbage(size_t bytes) {
  // Some dozens of results, each of which would begin with fresh memory.
  size_t span = bytes < SPAN_MOST / 32 ? 32 * bytes : SPAN_MOST;
  if (span < SPAN_LEAST) span = SPAN_LEAST;
  const size_t most = part_of_memory(32);
  if (span > most) span = most;
  if (handed_out + bytes < span) return;
  handed_out = 0;
  cudafactor_collect(0);
  if (alive < alive_after_full) alive_after_full = alive;
  if (alive > span && alive > 2 * alive_after_full) {
    cudafactor_collect(1);
    alive_after_full = alive;
  }
}

static void unmap(Block *block) { munmap(block->mapped, block->bytes); }

// Block i, no longer kept. The order of age stays.
static Block *remove_kept(size_t i) {
  Block *block = kept[i];
  bytes_kept -= block->bytes;
  --count;
  for (; i < count; ++i) kept[i] = kept[i + 1];
  return block;
}

// The smallest kept block with room, if that is not much more than is needed.
static Block *take(size_t room) {
  size_t best = count;
  for (size_t i = 0; i < count; ++i) {
    if (kept[i]->room >= room && (best == count || kept[i]->room < kept[best]->room)) best = i;
  }
  if (best == count || kept[best]->room - room > room / 4) return NULL;
  return remove_kept(best);
}

static void *allocate(R_allocator_t *allocator, size_t room) {
  (void)allocator;
  Block *block = take(room);
  if (block == NULL) {
    if (room > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = room + page + HUGE_PAGE;
    char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED && results_release() > 0) {
      mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (mapped == MAP_FAILED) return NULL;
    // The memory begins with a huge page, and the block's own words are at the end of the page
    // before. The rest goes back.
    char *const memory = (char *)(((size_t)mapped + page + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    char *const first = memory - page;
    char *const end = memory + (room + page - 1) / page * page;
    if (first > mapped) munmap(mapped, (size_t)(first - mapped));
    if (mapped + bytes > end) munmap(end, (size_t)(mapped + bytes - end));
    // All of it, so that it counts as one mapping.
    madvise(first, (size_t)(end - first), MADV_HUGEPAGE);
    block = (Block *)(memory - HEAD);
    *block = (Block){first, (size_t)(end - first), (size_t)(end - memory)};
  }
  alive += block->bytes;
  handed_out += block->bytes;
  return (char *)block + HEAD;
}

static void release(R_allocator_t *allocator, void *memory) {
  (void)allocator;
  Block *block = (Block *)((char *)memory - HEAD);
  alive -= block->bytes;
  const size_t most = most_kept();
  if (block->bytes > most) {
    unmap(block);
    return;
  }
  // The oldest go first.
  while (count > 0 && (count == BLOCKS || bytes_kept + block->bytes > most)) {
    unmap(remove_kept(0));
  }
#ifdef MADV_FREE
  // Not the page with the block's own words.
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t from = ((size_t)memory + page - 1) / page * page;
  const size_t to = ((size_t)block->mapped + block->bytes) / page * page;
  if (to > from) madvise((void *)from, to - from, MADV_FREE);
#endif
  kept[count++] = block;
  bytes_kept += block->bytes;
}

SEXP result_vector(SEXPTYPE type, R_xlen_t length) {
  const size_t size = type == INTSXP ? sizeof(int) : sizeof(double);
  if ((double)length * size < LARGE) return Rf_allocVector(type, length);
  look_for_garbage((size_t)length * size);
  R_allocator_t allocator = {allocate, release, NULL, NULL};
  return Rf_allocVector3(type, length, &allocator);
}

size_t results_release(void) {
  const size_t released = bytes_kept;
  while (count > 0) unmap(remove_kept(count - 1));
  return released;
}

#else

SEXP result_vector(SEXPTYPE type, R_xlen_t length) { return Rf_allocVector(type, length); }
size_t results_release(void) { return 0; }

#endif

SEXP result_matrix(int rows, int columns) {
  const SEXP out = PROTECT(result_vector(REALSXP, (R_xlen_t)rows * columns));
  const SEXP dim = PROTECT(Rf_allocVector(INTSXP, 2));
  INTEGER(dim)[0] = rows;
  INTEGER(dim)[1] = columns;
  Rf_setAttrib(out, R_DimSymbol, dim);
  UNPROTECT(2);
  return out;
}

size_t results_kept(void) {
#ifdef __linux__
  return bytes_kept;
#else
  return 0;
#endif
}
