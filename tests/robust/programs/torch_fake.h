/* What torch_library.cc offers to programs. */
#ifndef TESTS_ROBUST_PROGRAMS_TORCH_FAKE_H
#define TESTS_ROBUST_PROGRAMS_TORCH_FAKE_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_FUNCTION = 0, FAKE_BACKWARD = 1, FAKE_USER = 7 };

/* An operator: what observers get a pointer to, and what only the library knows. */
struct fake_operator {
    unsigned char bytes[320];
    const char *name;
    unsigned scope;
};

/* How many callbacks are registered. */
unsigned fake_callbacks(void);
/* The operator begins on this thread. SEQUENCE -1: none; FORWARD 0: it is not of the backward pass. */
void fake_begin(struct fake_operator *function, unsigned scope, const char *name, int64_t sequence, uint64_t forward);
void fake_end(struct fake_operator *function);
/* PyTorch's own profiler runs on this thread from now on, or does not. */
void fake_profile(bool on);

#endif
