/*
 * PyTorch's operators, recorded by callbacks that PyTorch runs at the start and at the end of each.
 *
 * The callbacks are registered once libtorch_cpu.so is in the process, and stay registered. A forked child inherits
 * them.
 */
#ifndef GPUTRACE_AGENT_TORCH_OPERATORS_H
#define GPUTRACE_AGENT_TORCH_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/libtorch.h"
#include "common/machine.h"

/* Sets whether operators are wanted, from TRACE_BITS. Called once for a process and its forks. */
void operators_init(uint64_t trace_bits);

/* Looks for PyTorch if libraries were loaded since the last call, and registers the callbacks. Called now and then,
 * without locks held, because it takes the dynamic loader's lock. */
void operators_find(void);

/* In a forked child: forgets the texts, which are in the parent's spool. */
void operators_atfork_child(void);

/* Returns the number of a text of WHAT (SPOOL_OPERATOR_NAME …), and writes the text to the spool if it is new. Takes
 * no lock. */
uint32_t operator_text(uint16_t what, const char *text, size_t length);

/* --- lists among inputs: inputs.c --- */

#define INPUTS_MOST 256 /* an operator with more inputs is recorded without them */

enum input_kind { INPUT_ALONE = 0, INPUT_TENSORS, INPUT_NUMBERS, INPUT_OTHERS };

/* The lists among an operator's inputs. */
struct input_lists {
    bool known;   /* false: nothing is known about lists, and INPUT_ALONE may be one */
    bool flatten; /* PyTorch must return the dimensions of all tensors in lists */
    struct input_list {
        uint8_t kind;   /* enum input_kind */
        bool shown;     /* the dimensions of each tensor are shown */
        uint32_t sizes; /* number of dimensions that PyTorch returns for this input when it flattens lists */
    } items[INPUTS_MOST];
    uint64_t sizes; /* sum over all inputs */
};

/* Reads the kinds of the COUNT inputs (at most INPUTS_MOST) of FUNCTION. TYPES are their types from inputTypes(), as
 * std::strings of STRING_BYTES. */
void input_lists_read(struct input_lists *lists, const struct torch_library *library,
                      const struct torch_function *function, const char *types, size_t string_bytes, size_t count);

/* --- inputs: inputs.c --- */

/* Records the inputs of FUNCTION, which just began on this thread as SELF. PyTorch may throw an exception, which passes
 * through this function; after that no more inputs are recorded. */
void operator_inputs_record(const struct torch_library *library, const struct torch_function *function, uint32_t self);

/* --- the time of operators --- */

/*
 * Operators' times are clock_now(), computed from the processor's time stamp counter, which takes half as long to read.
 *
 * Once a millisecond a thread reads clock_now(), and adds to it the counts since. A thread's times never run backwards,
 * unless the system's clock does. If the kernel's clock does not use the counter, and until the counter's rate is
 * measured, each time is clock_now() itself.
 */

/* A thread's base for its times; all zero at first. */
struct ticks {
    uint64_t count, time; /* values of the counter and of clock_now(), read together */
    uint64_t valid;       /* number of counts after `count` for which times can be computed; 0: none */
    uint64_t rate;        /* ns in 2^32 counts */
};

/* Starts measuring the counter's rate, if the counter is usable. Called once for a process and its forks. */
void ticks_init(void);

/* Returns the nanoseconds of COUNT, which must be at most about a millisecond. */
static inline uint64_t ticks_ns(uint64_t count, uint64_t rate)
{
    return (count * rate) >> 32;
}

/* Returns the time when ticks_now() cannot compute it, and renews the base. */
uint64_t ticks_renew(struct ticks *ticks) __attribute__((cold));

/* Returns the time (CLOCK_REALTIME, ns) by this thread's TICKS. */
static inline uint64_t ticks_now(struct ticks *ticks)
{
    uint64_t since = machine_counter() - ticks->count;
    return since < ticks->valid ? ticks->time + ticks_ns(since, ticks->rate) : ticks_renew(ticks);
}

#endif
