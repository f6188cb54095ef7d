/* Names of symbols by libiberty's demangler, which calls back with each piece: the rest of a long name is not made. */
#include "trace/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

/* libiberty demangles symbols up to this length with little stack. Longer ones need DMGL_NO_RECURSE_LIMIT, and at most
 * 216 bytes of stack for each byte of the symbol. */
#define SHORT_SYMBOL 1024u
#define STACK_FOR_BYTE ((size_t)512)
#define STACK_LEAST ((size_t)1 << 20)

struct demangling {
    const char *symbol;
    int options;
    char *out;
    size_t space, length;
    jmp_buf enough;
};

/* Leaves libiberty, which has no memory of its own, when there is no space. */
static void take(const char *text, size_t length, void *data)
{
    struct demangling *demangling = data;
    size_t left = demangling->space - demangling->length;
    memcpy(demangling->out + demangling->length, text, length < left ? length : left);
    demangling->length += length;
    if (length > left)
        longjmp(demangling->enough, 1);
}

static void *run(void *data)
{
    struct demangling *demangling = data;
    if (setjmp(demangling->enough) == 0 &&
        !cplus_demangle_v3_callback(demangling->symbol, demangling->options, take, demangling))
        demangling->length = 0;
    return NULL;
}

/* On a stack that is large enough. */
static void run_apart(struct demangling *demangling, size_t length)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return;
    demangling->options |= DMGL_NO_RECURSE_LIMIT;
    bool runs = pthread_attr_setstacksize(&attributes, STACK_LEAST + length * STACK_FOR_BYTE) == 0 &&
                pthread_create(&thread, &attributes, run, demangling) == 0;
    if (runs)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

size_t demangle(const char *symbol, size_t length, char *out, size_t space)
{
    struct demangling demangling = {.symbol = symbol, .options = DMGL_PARAMS | DMGL_TYPES, .out = out, .space = space};
    if (length < 3 || memcmp(symbol, "_Z", 2) != 0)
        return 0;
    if (length < SHORT_SYMBOL)
        run(&demangling);
    else
        run_apart(&demangling, length);
    return demangling.length;
}
