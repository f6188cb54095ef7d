/*
 * Call stacks of traced processes, and who gives their frames names.
 *
 * Spools have the addresses and the process's mappings (trace/meaning/), and symbols/ reads programs' symbols: neither
 * includes the other. cli/ makes a namer and passes it to convert_spool().
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

/* Registers and stack of a thread that crashed, as struct spool_crash_stack has them. */
struct stack_snapshot {
    const uint64_t *registers;
    uint64_t stack; /* address of BYTES */
    const char *bytes;
    size_t length;
};

/*
 * NAME fills COUNT frames of one stack, innermost first; address is set already, all else is 0. addresses[0] is of a
 * call itself, the others are return addresses, which lie behind their calls. What cannot be found stays 0.
 * Returns 0, or -1 after error(), which ends the conversion: without memory alone.
 */
struct frame_namer {
    int (*name)(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                struct stack_frame *frames);
    /* Unwinds a stack into at most MOST addresses: where the thread was, and return addresses. Returns how many; at
     * least 1, unless MOST is 0. */
    size_t (*unwind)(void *data, const struct mapping_text *maps, const struct stack_snapshot *snapshot,
                     uint64_t *addresses, size_t most);
    void *data;
};

/* What a frame belongs to, by its module, function and file. The later of two is the better place to look at. */
enum frame_owner {
    FRAME_CUDA,    /* CUDA's driver and runtime, CUPTI, gputrace: between the program's call and what recorded it */
    FRAME_STUB,    /* what nvcc makes of <<<>>>; the function that calls it is named as the kernel, and made too */
    FRAME_LIBRARY, /* of CUDA, PyTorch, Python or the C library, or not known: not the program's own code */
    FRAME_PYTHON_LIBRARY, /* a function of Python's own library, of an installed package, or that torch.compile wrote */
    FRAME_PYTHON_NO_FILE, /* a function of Python that is in no file: "<string>" */
    FRAME_PROGRAM,        /* the program's own code */
    FRAME_SCRIPT,         /* the same, in Python */
};
enum frame_owner frame_owner(const struct stack_frame *frame);

/* Which of COUNT frames, innermost first, is the place that a stack is known by: the innermost of those with the best
 * owner. Where all are of libraries, the innermost that is not CUDA's, or 0. Frames of what reported the call, a plugin
 * for example, may come before those of CUDA, and are not the place. OWNER says what frame I of DATA belongs to. */
size_t frames_place(enum frame_owner (*owner)(const void *data, size_t i), const void *data, size_t count);
/* How many frames the code that reported a call may have before CUDA's own. */
#define FRAMES_BEFORE_CUDA 8

/* How many frames come before the program's call: those of CUDA, and of what reported the call. */
size_t frames_begin(enum frame_owner (*owner)(const void *data, size_t i), const void *data, size_t count);
/* The same of an array of struct stack_frame, in which inlined calls are frames of their own. */
size_t stack_frames_place(const struct stack_frame *frames, size_t count);
/* Whether the frame is of what starts main() or a thread. */
bool frame_is_start(const struct stack_frame *frame);
/* Whether it is PyTorch's function of Python that runs the backward pass. */
bool frame_is_backward(const struct stack_frame *frame);

struct buffer;
/* Appends what a frame is called where there is one word for it: its function, else "libmath.so+0x1234", else its
 * address. */
void frame_put_name(struct buffer *buffer, const struct stack_frame *frame);
/* Appends "function (file.cu:12)" with the file's folders left out, "function (libmath.so+0x1234)", or the name. */
void frame_put_place(struct buffer *buffer, const struct stack_frame *frame);
/* The last part of a path; NULL of NULL. */
const char *frame_base_name(const char *path);

#endif
