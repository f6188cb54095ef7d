/*
 * PyTorch's operators: recorded by callbacks that PyTorch runs at the start and at the end of each.
 *
 * The callbacks are registered once libtorch_cpu.so is in the process, and stay there. A forked child inherits them.
 */
#ifndef GPUTRACE_AGENT_TORCH_OPERATORS_H
#define GPUTRACE_AGENT_TORCH_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "agent/torch/libtorch.h"

/* Operators are wanted as TRACE_BITS say. Once for a process and its forks. */
void operators_init(uint64_t trace_bits);

/* Finds PyTorch, when libraries came since the last call, and registers the callbacks. Called now and then, without
 * locks: it takes the dynamic loader's. */
void operators_find(void);

/* In a forked child: texts are written again. */
void operators_atfork_child(void);

/* The number of a text of WHAT (SPOOL_OPERATOR_NAME …), which is written when it is new. Takes no lock. */
uint32_t operator_text(uint16_t what, const char *text, size_t length);

/* --- lists among inputs: inputs.c --- */

#define INPUTS_MOST 256 /* inputs of an operator: of those with more, none are recorded */

enum input_kind { INPUT_ALONE = 0, INPUT_TENSORS, INPUT_NUMBERS, INPUT_OTHERS };

/* An operator's inputs. */
struct input_lists {
    bool known;   /* else nothing is: INPUT_ALONE stands for lists, too */
    bool flatten; /* PyTorch is to give the dimensions of all tensors in lists */
    struct input_list {
        uint8_t kind;   /* enum input_kind */
        bool shown;     /* with the dimensions of each tensor */
        uint32_t sizes; /* that PyTorch gives of it when it flattens lists */
    } items[INPUTS_MOST];
    uint64_t sizes; /* of all */
};

/* Reads what the COUNT inputs (at most INPUTS_MOST) of FUNCTION are, whose types by inputTypes() are TYPES, in
 * std::strings of STRING_BYTES. */
void input_lists_read(struct input_lists *lists, const struct torch_library *library,
                      const struct torch_function *function, const char *types, size_t string_bytes, size_t count);

/* --- inputs: inputs.c --- */

/* Records the inputs of FUNCTION, which just began on this thread as SELF. PyTorch may throw an exception, which passes
 * through; then no more inputs are recorded. */
void operator_inputs_record(const struct torch_library *library, const struct torch_function *function, uint32_t self);

/* --- the time of operators --- */

/*
 * That is clock_now(), worked out from the processor's time stamp counter, which is read in half the time.
 *
 * Once a millisecond a thread reads clock_now(), and adds to it what the counter says since. A thread's times never run
 * backwards, unless the system's clock does. Where the kernel does not keep its time by the counter, and until the
 * counter's rate is known, each time is clock_now() itself.
 */

/* A thread's base for its times, all zero at first. */
struct ticks {
    uint64_t count, time; /* of the counter and of clock_now(), read together */
    uint64_t valid;       /* counts from there on in which the time is worked out; 0: in none */
    uint64_t rate;        /* ns of 2^32 counts */
};

/* Begins to measure the counter's rate, if it can be used. Once for a process and its forks. */
void ticks_init(void);

static inline uint64_t ticks_count(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

/* Nanoseconds of COUNT, no more than of a millisecond. */
static inline uint64_t ticks_ns(uint64_t count, uint64_t rate)
{
    return (count * rate) >> 32;
}

/* What ticks_now() does when a millisecond has passed. */
uint64_t ticks_renew(struct ticks *ticks) __attribute__((cold));

/* Returns the time (CLOCK_REALTIME, ns) by this thread's TICKS. */
static inline uint64_t ticks_now(struct ticks *ticks)
{
    uint64_t since = ticks_count() - ticks->count;
    return since < ticks->valid ? ticks->time + ticks_ns(since, ticks->rate) : ticks_renew(ticks);
}

#endif
