/*
 * MPI's functions, as a program finds them first when this library is preloaded: each makes a range around the one that
 * the program would have called.
 *
 * One library serves all MPIs. Arguments are passed on as `long`: on the processors that gputrace runs on an argument
 * that is narrower takes as much space, in a register or on the stack, and who gets it looks at its own part.
 *
 * Without an MPI nothing here is called, unless by a program that looks for MPI by its symbols; it gets an error.
 */
#include <stddef.h>

#include "mpi/communicators.h"
#include "mpi/functions.h"
#include "mpi/library.h"
#include "mpi/ranges.h"

#define EXPORTED __attribute__((visibility("default")))
#define ERROR_OTHER 15 /* MPI_ERR_OTHER, or another error */

static struct {
    const char *name;
    struct arguments at;
    void *real;
    const void *text; /* the name, by range_text() */
} functions[] = {
#define FUNCTION(count, name, ...) [FUNCTION_##name] = {"MPI_" #name, {__VA_ARGS__}, NULL, NULL},
    MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

struct call {
    enum function function;
    const long *arguments;
    const struct mpi_constants *constants; /* NULL: MPI cannot be asked anything */
    uint64_t handle;                       /* of its communicator, 0: there is none */
    uint64_t made;                         /* communicators made of it before */
    uint64_t freed;
    bool ranged;
};

/* --- what arguments say --- */

/* 0 for position 0. */
static long argument(const struct call *call, unsigned position)
{
    return position ? call->arguments[position - 1] : 0;
}

static const void *pointer(const struct call *call, unsigned position)
{
    return (const void *)argument(call, position); /* NOLINT: a pointer that the program passed */
}

/* MPI_IN_PLACE: 1 in Open MPI, -1 in MPICH. */
static bool is_in_place(const struct call *call, unsigned position)
{
    long place = argument(call, position);
    return position && (place == 1 || place == -1);
}

/* -1: not known. */
static int64_t count_elements(const struct call *call, unsigned position, const struct range_facts *facts)
{
    enum counting counting = functions[call->function].at.counting;
    const int *counts = pointer(call, position);
    int64_t sum = 0;
    if (counting == COUNT_ONE)
        return (int)argument(call, position);
    if (!(facts->known & RANGE_COMMUNICATOR) || !counts)
        return -1;
    if (counting == COUNT_OWN)
        return counts[facts->rank];
    for (int i = 0; i < facts->ranks; i++)
        sum += counts[i];
    return sum;
}

static void find_bytes(const struct call *call, struct range_facts *facts)
{
    const struct arguments *at = &functions[call->function].at;
    bool other = is_in_place(call, at->place);
    unsigned count = other ? at->other_count : at->count, type = other ? at->other_type : at->type;
    if (count == 0 || type == 0)
        return;
    int64_t elements = count_elements(call, count, facts);
    int64_t bytes =
        elements <= 0 ? elements : mpi_type_bytes(call->constants, mpi_handle(call->constants, argument(call, type)));
    if (bytes < 0)
        return;
    facts->bytes = (uint64_t)elements * (uint64_t)bytes;
    facts->known |= RANGE_BYTES;
}

static int32_t peer_of(const struct call *call, unsigned position)
{
    int rank = (int)argument(call, position);
    return rank == call->constants->any_source ? -1 : rank == call->constants->no_peer ? -2 : rank;
}

static void add_number(struct range_facts *facts, int32_t *member, unsigned bit, unsigned position, int32_t value)
{
    if (position == 0)
        return;
    *member = value;
    facts->known |= bit;
}

/* SPACE is the caller's. Returns false where arguments may mean nothing on this rank. */
static bool find_communicator(struct call *call, struct range_facts *facts, struct communicator *space)
{
    const struct arguments *at = &functions[call->function].at;
    if (at->communicator == 0)
        return true;
    call->handle = mpi_handle(call->constants, argument(call, at->communicator));
    if (!communicator_find(call->constants, call->handle, at->collective, space))
        return false;
    facts->communicator = space->id;
    facts->name = space->text;
    facts->ranks = space->ranks;
    facts->rank = space->rank;
    facts->known |= RANGE_COMMUNICATOR;
    if (at->collective) {
        facts->sequence = space->operations;
        facts->known |= RANGE_SEQUENCE;
    }
    return !space->inter || !at->collective;
}

static void find_facts(struct call *call, struct range_facts *facts, struct communicator *space)
{
    const struct arguments *at = &functions[call->function].at;
    if (find_communicator(call, facts, space))
        find_bytes(call, facts);
    add_number(facts, &facts->peer, RANGE_PEER, at->peer, peer_of(call, at->peer));
    add_number(facts, &facts->tag, RANGE_TAG, at->tag, (int)argument(call, at->tag));
    add_number(facts, &facts->source, RANGE_SOURCE, at->source, peer_of(call, at->source));
    add_number(facts, &facts->root, RANGE_ROOT, at->root, peer_of(call, at->root));
    if (at->requests) {
        facts->requests = (uint32_t)argument(call, at->requests);
        facts->known |= RANGE_REQUESTS;
    }
}

/* --- before and after a call --- */

static void *find_real(enum function function, const void *caller)
{
    void *real = __atomic_load_n(&functions[function].real, __ATOMIC_ACQUIRE);
    if (real)
        return real;
    real = mpi_find(functions[function].name, caller);
    __atomic_store_n(&functions[function].real, real, __ATOMIC_RELEASE);
    return real;
}

/* Two threads may register it at once, which is harmless. */
static const void *name_of(enum function function)
{
    const void *text = __atomic_load_n(&functions[function].text, __ATOMIC_ACQUIRE);
    if (!text) {
        text = range_text(functions[function].name);
        __atomic_store_n(&functions[function].text, text, __ATOMIC_RELEASE);
    }
    return text;
}

static bool may_ask(enum function function)
{
    return function != FUNCTION_Init && function != FUNCTION_Init_thread;
}

/* Returns the function to call, NULL: there is none. */
static void *begin(struct call *call, enum function function, const long *arguments, const void *caller)
{
    struct range_facts facts = {0};
    struct communicator space;
    void *real = find_real(function, caller);
    *call = (struct call){.function = function, .arguments = arguments};
    if (!real || !ranges_wanted())
        return real;
    call->ranged = true;
    call->constants = may_ask(function) ? mpi_constants(caller) : NULL;
    if (call->constants)
        find_facts(call, &facts, &space);
    if (call->constants && functions[function].at.creates && !functions[function].at.group_alone)
        call->made = communicator_making(call->constants, call->handle);
    if (call->constants && functions[function].at.frees)
        call->freed = mpi_handle_at(call->constants, pointer(call, functions[function].at.frees));
    range_push(name_of(function), &facts);
    if (function == FUNCTION_Finalize)
        mpi_ends();
    return real;
}

static int end(const struct call *call, int result)
{
    const struct arguments *at = &functions[call->function].at;
    if (!call->ranged)
        return result;
    if (result == 0 && !may_ask(call->function))
        mpi_begun();
    if (result == 0 && call->constants && at->creates)
        communicator_made(call->constants, call->handle, call->made, at->group_alone,
                          mpi_handle_at(call->constants, pointer(call, at->creates)));
    if (result == 0 && call->constants && at->frees)
        communicator_freed(call->freed);
    range_pop();
    return result;
}

/* --- the functions --- */

#define PARAMETERS_0 void
#define PARAMETERS_1 long a
#define PARAMETERS_2 PARAMETERS_1, long b
#define PARAMETERS_3 PARAMETERS_2, long c
#define PARAMETERS_4 PARAMETERS_3, long d
#define PARAMETERS_5 PARAMETERS_4, long e
#define PARAMETERS_6 PARAMETERS_5, long f
#define PARAMETERS_7 PARAMETERS_6, long g
#define PARAMETERS_8 PARAMETERS_7, long h
#define PARAMETERS_9 PARAMETERS_8, long i
#define PARAMETERS_10 PARAMETERS_9, long j
#define PARAMETERS_11 PARAMETERS_10, long k
#define PARAMETERS_12 PARAMETERS_11, long l

#define ARGUMENTS_0
#define ARGUMENTS_1 a
#define ARGUMENTS_2 a, b
#define ARGUMENTS_3 a, b, c
#define ARGUMENTS_4 a, b, c, d
#define ARGUMENTS_5 a, b, c, d, e
#define ARGUMENTS_6 a, b, c, d, e, f
#define ARGUMENTS_7 a, b, c, d, e, f, g
#define ARGUMENTS_8 a, b, c, d, e, f, g, h
#define ARGUMENTS_9 a, b, c, d, e, f, g, h, i
#define ARGUMENTS_10 a, b, c, d, e, f, g, h, i, j
#define ARGUMENTS_11 a, b, c, d, e, f, g, h, i, j, k
#define ARGUMENTS_12 a, b, c, d, e, f, g, h, i, j, k, l

#define FUNCTION(count, name, ...)                                                               \
    EXPORTED int MPI_##name(PARAMETERS_##count);                                                 \
    int MPI_##name(PARAMETERS_##count)                                                           \
    {                                                                                            \
        const long arguments[count + 1] = {ARGUMENTS_##count};                                   \
        struct call call;                                                                        \
        int (*real)(PARAMETERS_##count);                                                         \
        *(void **)&real = begin(&call, FUNCTION_##name, arguments, __builtin_return_address(0)); \
        return real ? end(&call, real(ARGUMENTS_##count)) : ERROR_OTHER;                         \
    }
MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
