/*
 * Places: what was done, where, when and by which call, as it is told when it turns out to be one side of a hazard.
 */
#ifndef GPUTRACE_PLUGINS_HAZARDS_PLACE_H
#define GPUTRACE_PLUGINS_HAZARDS_PLACE_H

#include <stdint.h>

#include <gputrace/callbacks.h>

/*    what            noun                  what it does to the bytes */
#define PLACE_WHATS(X)                             \
    X(COPY_FROM, "copy", "reads")                  \
    X(COPY_TO, "copy", "writes")                   \
    X(SET, "set", "writes")                        \
    X(DECLARED_READ, "declared access", "reads")   \
    X(DECLARED_WRITE, "declared access", "writes") \
    X(ALLOCATION, "allocation", "allocates")       \
    X(FREE, "free", "frees")                       \
    X(WAIT, "wait", "waits for")

enum place_what {
#define WHAT(name, noun, verb) PLACE_##name,
    PLACE_WHATS(WHAT)
#undef WHAT
        PLACE_WHAT_COUNT
};

struct place {
    enum place_what what;
    uint32_t stack;             /* gputrace_stack(), 0: none */
    uint64_t time;              /* when it was called */
    const char *function;       /* lives for ever; NULL: gputrace_access() */
    struct CUstream_st *stream; /* as the program gave it */
    uint32_t stream_id;         /* GPUTRACE_NO_STREAM: not known */
    uint32_t thread;
    uint32_t in_stream;      /* 0: in none, the call itself did it */
    uint64_t address, bytes; /* of memory: the first byte and how many; of an array its handle; of a wait the event */
};

#endif
