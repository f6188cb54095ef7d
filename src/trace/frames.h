/*
 * Call stacks of traced processes, and who gives their frames names.
 *
 * convert/ has the addresses and the process's mappings, symbols/ knows how to read programs' symbols: neither includes
 * the other. cli/ makes a namer and hands it to convert_spool().
 */
#ifndef GPUTRACE_TRACE_FRAMES_H
#define GPUTRACE_TRACE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool_records.h"

/* What is not known is NULL or 0. Texts belong to the namer and live as long as it does; those of functions of Python
 * lie behind the frames. */
struct stack_frame {
    uint64_t address;     /* in the process, as it was recorded: always known */
    const char *function; /* demangled */
    const char *file;     /* of its source */
    uint32_t line;        /* in FILE, from 1 */
    const char *module;   /* path of the program or library that the address lies in, or FRAME_PYTHON */
    uint64_t offset;      /* of the address in MODULE's file as it was mapped */
    /* Calls that the compiler put into FUNCTION there, innermost first: function, file and line of each. LINE is then
     * where FUNCTION makes the last of them. They belong to the namer. */
    const struct stack_frame *inlined;
    size_t inlined_count;
};

/* The module of a function of Python, whose address is a word of its own (struct spool_stack). */
#define FRAME_PYTHON "python"

static inline bool frame_is_python(const struct stack_frame *frame)
{
    return frame->address >> 48 == SPOOL_STACK_PYTHON;
}

/* The code of one process: lines of /proc/PID/maps, each ended by a newline, in the order in which they were recorded;
 * a line may come more than once. The same struct, at the same place, for all stacks of a process. */
struct mapping_text {
    uint32_t pid;
    const char *text; /* ended by a NUL too */
    size_t length;    /* of TEXT without that NUL; 0: there are no mappings */
};

/*
 * NAME fills COUNT frames of one stack, innermost first; address is set already, all else is 0. addresses[0] is of a
 * call itself, the others are return addresses, which lie behind their calls. What cannot be found stays 0.
 * Returns 0, or -1 after error(), which ends the conversion: without memory alone.
 */
struct frame_namer {
    int (*name)(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                struct stack_frame *frames);
    void *data;
};

#endif
