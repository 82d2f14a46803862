#ifndef CUDAFACTOR_SETTINGS_H
#define CUDAFACTOR_SETTINGS_H

#include <Rinternals.h>

// Numbers that say where and how a call is to run: device, single, threads, min_flops, delay,
// gpu_memory, devices, verbose, the orders of breakeven, and emulation.
enum { SETTINGS = 17 };

// Reads them off two arguments and R's options. 0 where one of these makes no sense.
int read_settings(SEXP device, SEXP precision, double *settings);

// .External(settings, device, precision): what native routines take as `how`; NULL where an
// argument or an option makes no sense.
SEXP settings_of_call(SEXP args);

#endif
