#ifndef CUDAFACTOR_SETTINGS_H
#define CUDAFACTOR_SETTINGS_H

#include <Rinternals.h>

// .External(settings, device, precision): what native routines take as `how`; NULL where an
// argument or an option makes no sense.
SEXP settings_of_call(SEXP args);

#endif
