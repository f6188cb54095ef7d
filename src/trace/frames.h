/*
 * Frames of call stacks of traced processes, and the interface that names them.
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

/* Unknown members are NULL or 0. The namer owns the texts, except those of Python's functions, which lie behind the
 * frames. */
struct stack_frame {
    uint64_t address;     /* in the process, as recorded; always set */
    const char *function; /* demangled */
    const char *file;     /* source file */
    uint32_t line;        /* in `file`, counted from 1 */
    const char *module;   /* path of the program or library that the address lies in, or FRAME_PYTHON */
    uint64_t offset;      /* of the address in the file of `module` */
    /* The functions that the compiler inlined into `function` at the address, innermost first: function, file and line
     * of each. `line` is then where `function` calls the outermost of them. The namer owns them. */
    const struct stack_frame *inlined;
    size_t inlined_count;
};

/* The module of Python's functions. Their addresses are marked words (struct spool_stack). */
#define FRAME_PYTHON "python"

static inline bool frame_is_python(const struct stack_frame *frame)
{
    return frame->address >> 48 == SPOOL_STACK_PYTHON;
}

/* The mappings of one process: lines of /proc/PID/maps, each ended by a newline, in the order in which they were
 * recorded. A line may occur more than once. All stacks of a process use one struct at one address. */
struct mapping_text {
    uint32_t pid;
    const char *text; /* the lines, with a final NUL */
    size_t length;    /* of `text` without its final NUL; 0: no mappings */
};

/* Registers and stack of a thread that crashed, from struct spool_crash_stack. */
struct stack_snapshot {
    uint32_t machine; /* EM_X86_64 or EM_AARCH64; 0: EM_X86_64, in spools of earlier versions */
    const uint64_t *registers;
    uint64_t stack; /* address of `bytes` in the process */
    const char *bytes;
    size_t length;
};

/*
 * Functions that name frames and unwind stacks.
 *
 * name() fills COUNT frames, innermost first. Their addresses are set, the rest is 0 and stays 0 if unknown.
 * addresses[0] is that of a call, the others are return addresses, behind their calls. Returns 0, or -1 after error()
 * without memory, which ends the conversion.
 */
struct frame_namer {
    int (*name)(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                struct stack_frame *frames);
    /* Unwinds a stack into at most MOST addresses: where the thread was, then return addresses. Returns their number,
     * which is at least 1 unless MOST is 0. */
    size_t (*unwind)(void *data, const struct mapping_text *maps, const struct stack_snapshot *snapshot,
                     uint64_t *addresses, size_t most);
    void *data;
};

/* Whose code a frame is, by its module, function and file. A later owner makes the frame a better place to show for a
 * stack. */
enum frame_owner {
    FRAME_CUDA, /* CUDA's driver and runtime, CUPTI, gputrace: what lies between the program's call and the recording */
    FRAME_STUB, /* nvcc's stub for <<<>>>; its caller, which is named as the kernel, is generated too */
    FRAME_LIBRARY,        /* a library of CUDA, PyTorch, Python or C, or unknown code */
    FRAME_PYTHON_LIBRARY, /* Python in its own library, an installed package or torch.compile's output */
    FRAME_PYTHON_NO_FILE, /* Python that is in no file: "<string>" */
    FRAME_PROGRAM,        /* the program's own code */
    FRAME_SCRIPT,         /* the program's own code in Python */
};
enum frame_owner frame_owner(const struct stack_frame *frame);

/* Returns which of COUNT frames, innermost first, is shown for the stack: the innermost of the frames with the best
 * owner. If all frames are of libraries, it is the innermost that is not CUDA's, or 0. Frames before CUDA's, of a
 * plugin that reported the call for example, are never chosen. OWNER returns the owner of frame I of DATA. */
size_t frames_place(enum frame_owner (*owner)(const void *data, size_t i), const void *data, size_t count);
/* The most frames that the code that reported a call may have before CUDA's. */
#define FRAMES_BEFORE_CUDA 8

/* Returns how many frames precede the program's call: CUDA's, and those of the code that reported the call. */
size_t frames_begin(enum frame_owner (*owner)(const void *data, size_t i), const void *data, size_t count);
/* frames_place() for an array of frames in which inlined functions are frames of their own. */
size_t stack_frames_place(const struct stack_frame *frames, size_t count);
/* Whether the frame is a function that starts main() or a thread. */
bool frame_is_start(const struct stack_frame *frame);
/* Whether the frame is the Python function of PyTorch that runs the backward pass. */
bool frame_is_backward(const struct stack_frame *frame);

struct buffer;
/* Appends the shortest name of a frame: its function, else "libmath.so+0x1234", else its address. */
void frame_put_name(struct buffer *buffer, const struct stack_frame *frame);
/* Appends "function (file.cu:12)", without the file's folders, or "function (libmath.so+0x1234)", or just the name. */
void frame_put_place(struct buffer *buffer, const struct stack_frame *frame);
/* Returns the last part of PATH; NULL if PATH is NULL. */
const char *frame_base_name(const char *path);

#endif
