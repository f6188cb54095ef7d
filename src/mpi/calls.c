/*
 * MPI's functions, as a program finds them first when this library is preloaded: each makes a range around the one that
 * the program would have called.
 *
 * One library serves all MPIs. Arguments are passed on as `long`: on the processors that gputrace runs on an argument
 * that is narrower takes as much space, in a register or on the stack, and who gets it looks at its own part.
 *
 * Programs in Fortran call subroutines of other names (`mpi_send_`, of the module mpi_f08 `mpi_send_f08_`). Those of
 * Open MPI call PMPI_Send(), so they are wrapped, too; those of MPICH call MPI_Send(), which then makes no range more.
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

/* By which function a program calls MPI. */
enum language { LANGUAGE_C, LANGUAGE_FORTRAN, LANGUAGE_FORTRAN_2008, LANGUAGES };

static struct {
    const char *name;
    struct arguments at;
    const char *const symbols[LANGUAGES];
    void *real[LANGUAGES];
    const void *text; /* the name, by range_text() */
} functions[] = {
#define FUNCTION(count, name, fortran, ...)                                            \
    [FUNCTION_##name] = {"MPI_" #name,                                                 \
                         {__VA_ARGS__},                                                \
                         {"MPI_" #name, "mpi_" #fortran "_", "mpi_" #fortran "_f08_"}, \
                         {NULL, NULL, NULL},                                           \
                         NULL},
    MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* A subroutine of Fortran is running, which may call a function of C. */
static _Thread_local bool in_fortran;

struct call {
    enum function function;
    enum language language;
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

/* 0 for position 0. */
static int number(const struct call *call, unsigned position)
{
    if (call->language == LANGUAGE_C || position == 0)
        return (int)argument(call, position);
    return *(const int *)pointer(call, position);
}

/* The handle that the argument is. */
static uint64_t handle(const struct call *call, unsigned position, enum mpi_handles handles)
{
    return call->language == LANGUAGE_C ? mpi_handle(call->constants, argument(call, position))
                                        : mpi_handle_of_fortran(call->constants, handles, number(call, position));
}

/* The handle number INDEX at the place that the argument points to. */
static uint64_t handle_at(const struct call *call, unsigned position, int index, enum mpi_handles handles)
{
    const char *place = pointer(call, position);
    if (call->language != LANGUAGE_C)
        return mpi_handle_of_fortran(call->constants, handles, ((const int *)pointer(call, position))[index]);
    return mpi_handle_at(call->constants, place + (size_t)index * mpi_handle_size(call->constants));
}

/* MPI_IN_PLACE: 1 in Open MPI, -1 in MPICH, a variable in Fortran. */
static bool is_in_place(const struct call *call, unsigned position)
{
    long place = argument(call, position);
    if (call->language != LANGUAGE_C)
        return position && mpi_is_fortrans_place(pointer(call, position));
    return position && (place == 1 || place == -1);
}

static int64_t type_bytes(const struct call *call, unsigned position)
{
    return mpi_type_bytes(call->constants, handle(call, position, MPI_TYPES));
}

/* Of what each rank gets or gives; -1: not known. */
static int64_t array_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    const int *counts = pointer(call, amount->count);
    int64_t sum = 0, each = 0;
    if (!(facts->known & RANGE_COMMUNICATOR) || !counts)
        return -1;
    int first = amount->counting == COUNT_OWN ? facts->rank : 0;
    int end = amount->counting == COUNT_OWN ? first + 1 : facts->ranks;
    for (int i = first; i < end && sum >= 0; i++) {
        if (counts[i] == 0)
            continue;
        if (each == 0 || amount->counting == COUNT_TYPES)
            each = amount->counting == COUNT_TYPES
                       ? mpi_type_bytes(call->constants, handle_at(call, amount->type, i, MPI_TYPES))
                       : type_bytes(call, amount->type);
        sum = counts[i] < 0 || each < 0 ? -1 : sum + counts[i] * each;
    }
    return sum;
}

/* -1: not known. */
static int64_t amount_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    if (amount->count == 0)
        return -1;
    if (amount->counting != COUNT_ONE)
        return array_bytes(call, amount, facts);
    int64_t elements = number(call, amount->count), each = elements > 0 ? type_bytes(call, amount->type) : 0;
    return each < 0 || elements < 0 ? -1 : elements * each;
}

static void add_bytes(struct range_facts *facts, uint64_t *member, unsigned bit, int64_t bytes)
{
    if (bytes < 0)
        return;
    *member = (uint64_t)bytes;
    facts->known |= bit;
}

static void find_bytes(const struct call *call, struct range_facts *facts)
{
    const struct arguments *at = &functions[call->function].at;
    const struct amount *share = is_in_place(call, at->place) ? &at->other : &at->share;
    add_bytes(facts, &facts->bytes, RANGE_BYTES, amount_bytes(call, share, facts));
    if (at->at_root && number(call, at->root) != facts->rank)
        return;
    add_bytes(facts, &facts->sent, RANGE_SENT, amount_bytes(call, &at->sent, facts));
    add_bytes(facts, &facts->received, RANGE_RECEIVED, amount_bytes(call, &at->received, facts));
}

static int32_t peer_of(const struct call *call, unsigned position)
{
    int rank = number(call, position);
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
    call->handle = handle(call, at->communicator, MPI_COMMUNICATORS);
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
    add_number(facts, &facts->tag, RANGE_TAG, at->tag, number(call, at->tag));
    add_number(facts, &facts->source, RANGE_SOURCE, at->source, peer_of(call, at->source));
    add_number(facts, &facts->root, RANGE_ROOT, at->root, peer_of(call, at->root));
    if (at->requests) {
        facts->requests = (uint32_t)number(call, at->requests);
        facts->known |= RANGE_REQUESTS;
    }
}

/* --- before and after a call --- */

static void *find_real(enum function function, enum language language, const void *caller)
{
    void **place = &functions[function].real[language], *real = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (real)
        return real;
    real = mpi_find(functions[function].symbols[language], caller);
    __atomic_store_n(place, real, __ATOMIC_RELEASE);
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
static void *begin(struct call *call, enum function function, enum language language, const long *arguments,
                   const void *caller)
{
    struct range_facts facts = {0};
    struct communicator space;
    void *real = find_real(function, language, caller);
    *call = (struct call){.function = function, .language = language, .arguments = arguments};
    if (!real || in_fortran || !ranges_wanted())
        return real;
    call->ranged = true;
    call->constants = may_ask(function) ? mpi_constants(caller) : NULL;
    if (call->constants)
        find_facts(call, &facts, &space);
    if (call->constants && functions[function].at.creates && !functions[function].at.group_alone)
        call->made = communicator_making(call->constants, call->handle);
    if (call->constants && functions[function].at.frees)
        call->freed = handle_at(call, functions[function].at.frees, 0, MPI_COMMUNICATORS);
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
                          handle_at(call, at->creates, 0, MPI_COMMUNICATORS));
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

#define PARAMETERS_13 PARAMETERS_12, long m

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
#define ARGUMENTS_13 a, b, c, d, e, f, g, h, i, j, k, l, m

#define FUNCTION(count, name, fortran, ...)                                                                  \
    EXPORTED int MPI_##name(PARAMETERS_##count);                                                             \
    int MPI_##name(PARAMETERS_##count)                                                                       \
    {                                                                                                        \
        const long arguments[count + 1] = {ARGUMENTS_##count};                                               \
        struct call call;                                                                                    \
        int (*real)(PARAMETERS_##count);                                                                     \
        *(void **)&real = begin(&call, FUNCTION_##name, LANGUAGE_C, arguments, __builtin_return_address(0)); \
        return real ? end(&call, real(ARGUMENTS_##count)) : ERROR_OTHER;                                     \
    }
MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION

/* --- Fortran --- */

/* Where a subroutine of COUNT arguments writes the error; NULL: the program of Fortran 2008 left it out. */
static int *error_of(enum function function, const long *arguments, unsigned count)
{
    unsigned fewer = function == FUNCTION_Init || function == FUNCTION_Init_thread ? 2 : 0;
    return (int *)arguments[count - 1 - fewer]; /* NOLINT: a pointer that the program passed */
}

static void end_subroutine(const struct call *call, const int *error)
{
    in_fortran = in_fortran && !call->ranged;
    end(call, error ? *error : 0);
}

static void set_error(int *error)
{
    if (error)
        *error = ERROR_OTHER;
}

#define COUNT_0 1
#define COUNT_1 2
#define COUNT_2 3
#define COUNT_3 4
#define COUNT_4 5
#define COUNT_5 6
#define COUNT_6 7
#define COUNT_7 8
#define COUNT_8 9
#define COUNT_9 10
#define COUNT_10 11
#define COUNT_11 12
#define COUNT_12 13
#define JOIN(a, b) a##b

/* COUNT: with the error. MPI_Init and MPI_Init_thread read two more registers than they were given, and pass them on.
 */
#define SUBROUTINE(symbol, count, name, language) \
    SUBROUTINE_OF(symbol, count, JOIN(PARAMETERS_, count), JOIN(ARGUMENTS_, count), name, language)
#define SUBROUTINE_OF(symbol, count, parameters, values, name, language)                                   \
    EXPORTED void symbol(parameters);                                                                      \
    void symbol(parameters)                                                                                \
    {                                                                                                      \
        const long arguments[count] = {values};                                                            \
        int *error = error_of(FUNCTION_##name, arguments, count);                                          \
        struct call call;                                                                                  \
        void (*real)(parameters);                                                                          \
        *(void **)&real = begin(&call, FUNCTION_##name, language, arguments, __builtin_return_address(0)); \
        in_fortran = in_fortran || call.ranged;                                                            \
        if (real)                                                                                          \
            real(values);                                                                                  \
        else                                                                                               \
            set_error(error);                                                                              \
        end_subroutine(&call, error);                                                                      \
    }
#define FUNCTION(count, name, fortran, ...)                             \
    SUBROUTINE(mpi_##fortran##_, COUNT_##count, name, LANGUAGE_FORTRAN) \
    SUBROUTINE(mpi_##fortran##_f08_, COUNT_##count, name, LANGUAGE_FORTRAN_2008)
MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
