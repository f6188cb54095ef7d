/*
 * MPI's functions, as a program finds them first when this library is preloaded: each makes a range around the one that
 * the program would have called.
 *
 * One library serves all MPIs. Arguments are passed on as `long`: on the processors that gputrace runs on an argument
 * that is narrower takes as much space, in a register or on the stack, and who gets it looks at its own part.
 *
 * Programs in Fortran call subroutines of other names (`mpi_send_`, of the module mpi_f08 `mpi_send_f08_`). Those of
 * Open MPI call PMPI_Send(), so they are wrapped, too; those of MPICH call MPI_Send(). A function that is called within
 * another one on the same thread is part of it, and makes no range: that of C within Fortran's, those that MPI or
 * another tool calls to do its work.
 *
 * Without an MPI nothing here is called, unless by a program that looks for MPI by its symbols; it gets an error.
 */
#include <stddef.h>
#include <string.h>

#include "mpi/communicators.h"
#include "mpi/functions.h"
#include "mpi/imports.h"
#include "mpi/library.h"
#include "mpi/objects.h"
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
    MPI_FUNCTIONS(FUNCTION, FUNCTION, FUNCTION)
#undef FUNCTION
};

/* Where the stack has the call that is running on this thread; 0: there is none. What is below it is a call within it;
 * what is not says that an exception, or longjmp(), left it. */
static _Thread_local uintptr_t outermost;

struct call {
    enum function function;
    enum language language;
    const long *arguments;
    const struct mpi_constants *constants; /* NULL: MPI cannot be asked anything */
    uint64_t handle;                       /* of its communicator, 0: there is none */
    uint64_t made;                         /* communicators made of it before */
    uint64_t freed;
    const void *caller;
    struct range_facts facts;
    bool outer; /* it is not within another one */
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

/* 0 for position 0. */
static int64_t count_of(const struct call *call, unsigned position)
{
    if (!functions[call->function].at.large)
        return number(call, position);
    return call->language == LANGUAGE_C ? argument(call, position) : *(const int64_t *)pointer(call, position);
}

/* The handle that the argument is. */
static uint64_t handle(const struct call *call, unsigned position, enum mpi_handles handles)
{
    return call->language == LANGUAGE_C ? mpi_handle(call->constants, handles, argument(call, position))
                                        : mpi_handle_of_fortran(call->constants, handles, number(call, position));
}

/* The handle number INDEX at the place that the argument points to. */
static uint64_t handle_at(const struct call *call, unsigned position, int index, enum mpi_handles handles)
{
    const void *place = pointer(call, position);
    if (call->language != LANGUAGE_C)
        return mpi_handle_of_fortran(call->constants, handles, ((const int *)place)[index]);
    return mpi_handle_at(call->constants, handles, place, index);
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

/* -1: not known. */
static int64_t product(int64_t count, int64_t each)
{
    int64_t bytes;
    return count < 0 || each < 0 || __builtin_mul_overflow(count, each, &bytes) ? -1 : bytes;
}

/* Of what each rank gets or gives; -1: not known. */
static int64_t array_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    const void *counts = pointer(call, amount->count);
    bool large = functions[call->function].at.large;
    int64_t sum = 0, each = 0;
    if (!(facts->known & RANGE_COMMUNICATOR) || !counts)
        return -1;
    int first = amount->counting == COUNT_OWN ? facts->rank : 0;
    int end = amount->counting == COUNT_OWN ? first + 1 : facts->ranks;
    for (int i = first; i < end && sum >= 0; i++) {
        int64_t count = large ? ((const int64_t *)counts)[i] : ((const int *)counts)[i];
        if (count == 0)
            continue;
        if (each == 0 || amount->counting == COUNT_TYPES)
            each = amount->counting == COUNT_TYPES
                       ? mpi_type_bytes(call->constants, handle_at(call, amount->type, i, MPI_TYPES))
                       : type_bytes(call, amount->type);
        int64_t bytes = product(count, each);
        if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum))
            sum = -1;
    }
    return sum;
}

/* -1: not known. */
static int64_t amount_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    if (amount->count == 0)
        return -1;
    if (amount->counting > COUNT_SINGLE)
        return array_bytes(call, amount, facts);
    unsigned partitions = functions[call->function].at.partitions;
    int64_t elements = amount->counting == COUNT_SINGLE ? 1 : count_of(call, amount->count);
    if (partitions)
        elements = product(number(call, partitions), elements);
    return product(elements, elements > 0 ? type_bytes(call, amount->type) : 0);
}

static void add_bytes(struct range_facts *facts, uint64_t *member, unsigned bit, int64_t bytes)
{
    if (bytes < 0)
        return;
    *member = (uint64_t)bytes;
    facts->known |= bit;
}

/* What goes to MPI_PROC_NULL, or comes from it, is nothing. */
static int64_t moved(int64_t bytes, bool known, int32_t rank)
{
    return known && rank == RANGE_NO_PEER && bytes > 0 ? 0 : bytes;
}

/* Once the peers are known. */
static void find_bytes(const struct call *call, struct range_facts *facts)
{
    const struct arguments *at = &functions[call->function].at;
    const struct amount *share = is_in_place(call, at->place) ? &at->other : &at->share;
    int32_t source = at->source ? facts->source : facts->peer;
    bool peer = facts->known & RANGE_PEER;
    add_bytes(facts, &facts->bytes, RANGE_BYTES, moved(amount_bytes(call, share, facts), peer, facts->peer));
    if (at->at_root && number(call, at->root) != facts->rank)
        return;
    add_bytes(facts, &facts->sent, RANGE_SENT, amount_bytes(call, &at->sent, facts));
    add_bytes(facts, &facts->received, RANGE_RECEIVED, moved(amount_bytes(call, &at->received, facts), peer, source));
}

static int32_t peer_of(const struct call *call, unsigned position)
{
    int rank = number(call, position);
    return rank == call->constants->any_source ? -1 : rank == call->constants->no_peer ? RANGE_NO_PEER : rank;
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

static uint64_t object_of(const struct call *call, const struct arguments *at)
{
    return at->by_address ? handle_at(call, at->object, 0, at->kind) : handle(call, at->object, at->kind);
}

static void find_facts(struct call *call, struct range_facts *facts)
{
    const struct arguments *at = &functions[call->function].at;
    struct communicator space;
    if (at->object)
        object_find(object_of(call, at), facts);
    facts->known &=
        ~(unsigned)(at->starts ? RANGE_SEQUENCE : RANGE_SEQUENCE | RANGE_BYTES | RANGE_SENT | RANGE_RECEIVED);
    bool certain = find_communicator(call, facts, &space);
    add_number(facts, &facts->peer, RANGE_PEER, at->peer, peer_of(call, at->peer));
    add_number(facts, &facts->tag, RANGE_TAG, at->tag, number(call, at->tag));
    add_number(facts, &facts->source, RANGE_SOURCE, at->source, peer_of(call, at->source));
    add_number(facts, &facts->root, RANGE_ROOT, at->root, peer_of(call, at->root));
    add_number(facts, &facts->code, RANGE_CODE, at->code, number(call, at->code));
    if (certain)
        find_bytes(call, facts);
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
    return function != FUNCTION_Init && function != FUNCTION_Init_thread && function != FUNCTION_Session_init;
}

/* Before the call. */
static void learn(struct call *call)
{
    const struct arguments *at = &functions[call->function].at;
    find_facts(call, &call->facts);
    if (at->creates && !at->group_alone)
        call->made = communicator_making(call->constants, call->handle);
    if (at->frees)
        call->freed = handle_at(call, at->frees, 0, MPI_COMMUNICATORS);
}

/* After it: what it made. */
static void learn_made(struct call *call)
{
    const struct arguments *at = &functions[call->function].at;
    uint64_t made = at->creates ? handle_at(call, at->creates, 0, MPI_COMMUNICATORS) : 0;
    int source, tag;
    if (at->creates && at->duplicate)
        communicator_duplicated(call->handle, call->made, made);
    else if (at->creates)
        communicator_made(call->constants, call->handle, call->made, at->group_alone, made);
    if (at->frees)
        communicator_freed(call->freed);
    if (!at->keeps || (at->flag && !*(const int *)pointer(call, at->flag)))
        return;
    if (at->status && call->language == LANGUAGE_C && call->facts.peer != RANGE_NO_PEER &&
        mpi_read_status(call->constants, pointer(call, at->status), &source, &tag)) {
        call->facts.peer = source;
        call->facts.tag = tag;
    }
    object_keep(handle_at(call, at->keeps, 0, at->kind), &call->facts);
}

/* Returns the function to call, NULL: there is none. */
static void *begin(struct call *call, enum function function, enum language language, const long *arguments,
                   const void *caller)
{
    void *real = find_real(function, language, caller);
    *call = (struct call){.function = function, .language = language, .arguments = arguments, .caller = caller};
    if (!real || (outermost && (uintptr_t)call < outermost) || !ranges_wanted())
        return real;
    outermost = (uintptr_t)call;
    call->outer = true;
    if (may_ask(function))
        call->constants = mpi_constants(caller);
    if (call->constants && !mpi_is_running())
        call->constants = NULL;
    if (call->constants)
        learn(call);
    if (!functions[function].at.quiet)
        range_push(name_of(function), &call->facts);
    if (function == FUNCTION_Finalize)
        mpi_ends();
    if (function == FUNCTION_Session_finalize && call->constants)
        mpi_session_ends(handle_at(call, 1, 0, MPI_SESSIONS));
    return real;
}

static bool is_recorded(const char *name)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}

/* Once, when MPI has begun and the program is loaded. */
static void note_unrecorded(void)
{
    static bool noted;
    char names[400];
    if (!__atomic_exchange_n(&noted, true, __ATOMIC_RELAXED) &&
        imports_find_unrecorded(is_recorded, names, sizeof(names)))
        range_unrecorded(names);
}

static int end(struct call *call, int result)
{
    if (!call->outer)
        return result;
    if (result == 0 && call->function == FUNCTION_Session_init) {
        call->constants = mpi_constants(call->caller);
        if (call->constants)
            mpi_session_begun(handle_at(call, 3, 0, MPI_SESSIONS));
    } else if (result == 0 && !may_ask(call->function))
        mpi_begun();
    else if (result == 0 && call->constants)
        learn_made(call);
    if (!functions[call->function].at.quiet)
        range_pop();
    if (!may_ask(call->function))
        note_unrecorded();
    outermost = 0;
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
#define PARAMETERS_14 PARAMETERS_13, long n

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
#define ARGUMENTS_14 a, b, c, d, e, f, g, h, i, j, k, l, m, n

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
MPI_FUNCTIONS(FUNCTION, FUNCTION, FUNCTION)
#undef FUNCTION

/* --- Fortran --- */

/* Where a subroutine of COUNT arguments writes the error; NULL: the program of Fortran 2008 left it out. */
static int *error_of(enum function function, const long *arguments, unsigned count)
{
    unsigned fewer = function == FUNCTION_Init || function == FUNCTION_Init_thread ? 2 : 0;
    return (int *)arguments[count - 1 - fewer]; /* NOLINT: a pointer that the program passed */
}

static void end_subroutine(struct call *call, const int *error)
{
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
#define COUNT_13 14
/* The same, and the lengths of up to two texts: who passes fewer has something else there, which nobody looks at. */
#define TEXTS_5 8
#define TEXTS_6 9
#define TEXTS_8 11
#define TEXTS_9 12

/* COUNT: with the error. MPI_Init and MPI_Init_thread read two more registers than they were given, and pass them on.
 */
#define SUBROUTINE(symbol, count, passed, name, language) \
    SUBROUTINE_OF(symbol, count, passed, JOIN(PARAMETERS_, passed), JOIN(ARGUMENTS_, passed), name, language)
#define SUBROUTINE_OF(symbol, count, passed, parameters, values, name, language)                           \
    EXPORTED void symbol(parameters);                                                                      \
    void symbol(parameters)                                                                                \
    {                                                                                                      \
        const long arguments[passed] = {values};                                                           \
        int *error = error_of(FUNCTION_##name, arguments, count);                                          \
        struct call call;                                                                                  \
        void (*real)(parameters);                                                                          \
        *(void **)&real = begin(&call, FUNCTION_##name, language, arguments, __builtin_return_address(0)); \
        if (real)                                                                                          \
            real(values);                                                                                  \
        else                                                                                               \
            set_error(error);                                                                              \
        end_subroutine(&call, error);                                                                      \
    }
#define FUNCTION(count, name, fortran, ...)                                            \
    SUBROUTINE(mpi_##fortran##_, COUNT_##count, COUNT_##count, name, LANGUAGE_FORTRAN) \
    SUBROUTINE(mpi_##fortran##_f08_, COUNT_##count, COUNT_##count, name, LANGUAGE_FORTRAN_2008)
#define WITH_TEXTS(count, name, fortran, ...)                                          \
    SUBROUTINE(mpi_##fortran##_, COUNT_##count, TEXTS_##count, name, LANGUAGE_FORTRAN) \
    SUBROUTINE(mpi_##fortran##_f08_, COUNT_##count, TEXTS_##count, name, LANGUAGE_FORTRAN_2008)
#define OF_C_ALONE(count, name, fortran, ...)
MPI_FUNCTIONS(FUNCTION, OF_C_ALONE, WITH_TEXTS)
#undef FUNCTION
