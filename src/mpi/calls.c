/*
 * MPI's functions in a library that is preloaded, so that a program finds them before those of MPI: each makes a range
 * around the function that the program would have called.
 *
 * One library serves all MPIs. Arguments are passed on as `long`: on the processors that gputrace supports, a narrower
 * argument takes as much space, in a register or on the stack, and the callee reads only its own part.
 *
 * Programs in Fortran call subroutines with other names (`mpi_send_`, of the module mpi_f08 `mpi_send_f08_`). Those of
 * Open MPI call PMPI_Send(), so they are wrapped, too; those of MPICH call MPI_Send(). A call within another call on
 * one thread is part of it, and makes no range: C's within Fortran's, and calls that MPI or another tool makes to do
 * its work.
 *
 * Without an MPI nothing here is called, unless by a program that looks for MPI by its symbols; that program gets an
 * error.
 */
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "mpi/functions.h"
#include "mpi/library.h"

#define EXPORTED __attribute__((visibility("default")))
#define ERROR_OTHER 15 /* MPI_ERR_OTHER, or another error in some MPIs */

static struct {
    const char *name;
    struct arguments at;
    const char *const symbols[LANGUAGES];
    void *real[LANGUAGES];
    const void *text; /* the name as a result of range_text() */
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

/* Stack address of the outermost call that is running on this thread; 0: none. A call deeper in the stack is within it.
 * A call that is less deep shows that an exception or longjmp() left the outermost call. */
static _Thread_local uintptr_t outermost;

/* --- imported functions of MPI that are not recorded: extensions of the MPI library, functions of later standards, and
 * PMPI_* from the program itself ---
 *
 * Imports are the undefined symbols of the program and of the libraries that are loaded with it. They are the symbols
 * in no hash table, which come first. PMPI_* counts only in the program, because libraries that wrap MPI call it.
 * Libraries of MPI itself (libmpichfort.so, libmpi_usempif08.so) are skipped: they import all they have. */

struct search {
    char text[400]; /* for example "MPIX_Send_enqueue, PMPI_Send" */
    size_t length;
};

struct imported {
    const ElfW(Sym) * items;
    const char *names;
    const uint32_t *hash; /* GNU hash table: number of buckets, index of its first symbol, … */
};

static struct imported symbols_of(const struct dl_phdr_info *object)
{
    struct imported symbols = {0};
    const ElfW(Dyn) *entry = NULL;
    for (size_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr); /* NOLINT: it is mapped there */
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) at = entry->d_un.d_ptr;
        const void *place = (const void *)(at < object->dlpi_addr ? at + object->dlpi_addr : at); /* NOLINT: mapped */
        if (entry->d_tag == DT_SYMTAB)
            symbols.items = place;
        if (entry->d_tag == DT_STRTAB)
            symbols.names = place;
        if (entry->d_tag == DT_GNU_HASH)
            symbols.hash = place;
    }
    return symbols;
}

/* Whether NAME moves data ("MPIX_Allreduce_enqueue", not "MPI_Reduce_local") and is not wrapped here. PROFILING: it
 * begins with PMPI. */
static bool is_unrecorded(const char *name, bool profiling)
{
    static const char *const words[] = {"send",   "recv",     "bcast", "gather",  "scatter",
                                        "reduce", "alltoall", "scan",  "barrier", "accumulate"};
    size_t word = 0, function = 0;
    while (word < sizeof(words) / sizeof(*words) && !strcasestr(name, words[word]))
        word++;
    while (function < FUNCTION_COUNT && strcmp(functions[function].name, name) != 0)
        function++;
    return word < sizeof(words) / sizeof(*words) && !strstr(name, "_local") &&
           (profiling || function == FUNCTION_COUNT);
}

static void add_name(struct search *search, const char *name)
{
    size_t length = strlen(name), separator = search->length > 0 ? 2 : 0;
    const char *listed = strstr(search->text, name); /* several libraries may import one function */
    while (listed && listed[length] != ',' && listed[length] != '\0')
        listed = strstr(listed + 1, name);
    if (search->length + separator + length >= sizeof(search->text) ||
        (listed && (listed == search->text || listed[-1] == ' ')))
        return;
    memcpy(search->text + search->length, ", ", separator);
    memcpy(search->text + search->length + separator, name, length + 1);
    search->length += separator + length;
}

static int scan_object(struct dl_phdr_info *object, size_t size, void *context)
{
    struct search *search = context;
    struct imported symbols = symbols_of(object);
    const char *slash = strrchr(object->dlpi_name, '/');
    bool program = !*object->dlpi_name, is_mpi = strncmp(slash ? slash + 1 : object->dlpi_name, "libmpi", 6) == 0;
    (void)size;
    if (is_mpi || !symbols.items || !symbols.names || !symbols.hash)
        return 0;
    for (uint32_t i = 1; i < symbols.hash[1]; i++) {
        const char *name = symbols.names + symbols.items[i].st_name;
        bool profiling = strncmp(name, "PMPI", 4) == 0;
        if (symbols.items[i].st_shndx != SHN_UNDEF || strncmp(name + profiling, "MPI", 3) != 0 ||
            (profiling && !program))
            continue;
        if (is_unrecorded(name, profiling))
            add_name(search, name);
    }
    return 0;
}

/* --- before and after a call --- */

/* Whether MPI functions may be called before the call. */
static bool may_ask(enum function function)
{
    return function != FUNCTION_Init && function != FUNCTION_Init_thread && function != FUNCTION_Session_init;
}

/* Starts a call. Returns the function to call, or NULL if there is none. */
static void *begin(struct call *call, enum function function, enum language language, const long *arguments,
                   const void *caller)
{
    void **place = &functions[function].real[language], *real = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (!real) {
        real = mpi_find(functions[function].symbols[language], caller);
        __atomic_store_n(place, real, __ATOMIC_RELEASE);
    }
    *call = (struct call){.function = function,
                          .at = &functions[function].at,
                          .language = language,
                          .arguments = arguments,
                          .caller = caller};
    if (!real || (outermost && (uintptr_t)call < outermost) || !ranges_wanted())
        return real;
    outermost = (uintptr_t)call;
    call->outer = true;
    if (may_ask(function))
        call->constants = mpi_constants(caller);
    if (call->constants && !mpi_is_running())
        call->constants = NULL;
    if (call->constants)
        call_read_facts(call);
    const void *text = __atomic_load_n(&functions[function].text, __ATOMIC_ACQUIRE);
    if (!call->at->quiet && !text) { /* two threads may register it at once, which is harmless */
        text = range_text(functions[function].name);
        __atomic_store_n(&functions[function].text, text, __ATOMIC_RELEASE);
    }
    if (!call->at->quiet)
        range_push(text, &call->facts);
    if (function == FUNCTION_Finalize)
        mpi_set_running(false);
    if (function == FUNCTION_Session_finalize && call->constants)
        mpi_set_session(call_handle_at(call, 1, 0, MPI_SESSIONS), false);
    return real;
}

static int end(struct call *call, int result)
{
    if (!call->outer)
        return result;
    if (result == 0 && call->function == FUNCTION_Session_init) {
        call->constants = mpi_constants(call->caller);
        if (call->constants)
            mpi_set_session(call_handle_at(call, 3, 0, MPI_SESSIONS), true);
    } else if (result == 0 && !may_ask(call->function))
        mpi_set_running(true);
    else if (result == 0 && call->constants)
        call_keep_made(call);
    if (!call->at->quiet)
        range_pop();
    static bool noted;
    if (!may_ask(call->function) && !__atomic_exchange_n(&noted, true, __ATOMIC_RELAXED)) {
        /* Runs once, after MPI has been initialised and with the program loaded. */
        struct search search = {.length = 0};
        dl_iterate_phdr(scan_object, &search);
        if (search.length > 0)
            range_unrecorded(search.text);
    }
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

/* Ends the call of a subroutine with COUNT arguments; REAL is NULL if it does not exist. The last argument is the
 * address of the error, NULL if a Fortran 2008 program left it out. */
static void end_subroutine(struct call *call, unsigned count, const void *real)
{
    unsigned fewer = call->function == FUNCTION_Init || call->function == FUNCTION_Init_thread ? 2 : 0;
    int *error = (int *)call->arguments[count - 1 - fewer]; /* NOLINT: a pointer that the program passed */
    if (!real && error)
        *error = ERROR_OTHER;
    end(call, error ? *error : 0);
}

/* The number of words passed on, including the lengths of up to two texts. If a caller passes fewer, the callee does
 * not read the others. */
#define TEXTS_5 8
#define TEXTS_6 9
#define TEXTS_8 11
#define TEXTS_9 12

/* COUNT includes the error. MPI_Init and MPI_Init_thread read two more registers than they were passed, and pass them
 * on. */
#define SUBROUTINE(symbol, count, passed, name, language) \
    SUBROUTINE_OF(symbol, count, passed, JOIN(PARAMETERS_, passed), JOIN(ARGUMENTS_, passed), name, language)
#define SUBROUTINE_OF(symbol, count, passed, parameters, values, name, language)                           \
    EXPORTED void symbol(parameters);                                                                      \
    void symbol(parameters)                                                                                \
    {                                                                                                      \
        const long arguments[passed] = {values};                                                           \
        struct call call;                                                                                  \
        void (*real)(parameters);                                                                          \
        *(void **)&real = begin(&call, FUNCTION_##name, language, arguments, __builtin_return_address(0)); \
        if (real)                                                                                          \
            real(values);                                                                                  \
        end_subroutine(&call, count, *(void **)&real);                                                     \
    }
#define FUNCTION(count, name, fortran, ...)                                            \
    SUBROUTINE(mpi_##fortran##_, AFTER_##count, AFTER_##count, name, LANGUAGE_FORTRAN) \
    SUBROUTINE(mpi_##fortran##_f08_, AFTER_##count, AFTER_##count, name, LANGUAGE_FORTRAN_2008)
#define WITH_TEXTS(count, name, fortran, ...)                                          \
    SUBROUTINE(mpi_##fortran##_, AFTER_##count, TEXTS_##count, name, LANGUAGE_FORTRAN) \
    SUBROUTINE(mpi_##fortran##_f08_, AFTER_##count, TEXTS_##count, name, LANGUAGE_FORTRAN_2008)
#define OF_C_ALONE(count, name, fortran, ...)
MPI_FUNCTIONS(FUNCTION, OF_C_ALONE, WITH_TEXTS)
#undef FUNCTION
