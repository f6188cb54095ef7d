/*
 * Finds out why programs are not recorded: for `gputrace doctor`, and after `gputrace run` for an empty trace.
 *
 * libcuda, libcupti and libgputrace.so are each loaded in a child process and asked for their versions and functions,
 * so that a crash, output and threads of a library do not affect the tool.
 *
 * No NVIDIA header is needed: the few functions called here are looked up by name and have had these prototypes in
 * every version.
 */
#ifndef GPUTRACE_CLI_DIAGNOSIS_H
#define GPUTRACE_CLI_DIAGNOSIS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_end {
    PROBE_ANSWERED,
    PROBE_CRASHED,   /* a signal or an exit ended the child before its answer */
    PROBE_TOO_SLOW,  /* the child gave no answer within PROBE_SECONDS and was killed */
    PROBE_NOT_ASKED, /* the child could not be started */
};
#define PROBE_SECONDS 30

/* Calls ASK in a child process with QUESTION and SIZE zero bytes for its answer, and copies the answer to ANSWER. */
enum probe_end probe(void (*ask)(const void *question, void *answer), const void *question, void *answer, size_t size);

struct driver_answer {
    enum probe_end end;
    bool loaded;
    char words[256]; /* why the library was not loaded, or why cuInit failed */
    int version;     /* 13000 is CUDA 13.0 */
    int result;      /* CUresult of cuInit(), which makes no context */
    int devices;
    char device[128]; /* name of the first device */
};

struct cupti_answer {
    enum probe_end end;
    bool loaded;
    char words[256];  /* why the library was not loaded, or why cuptiSubscribe failed */
    char path[512];   /* path of the file that was loaded */
    uint32_t version; /* 18 is CUDA 11.8, 130000 CUDA 13.0 */
    int result;       /* CUptiResult of cuptiSubscribe() */
};

/* Whether libgputrace.so has the entry points that the driver and NVTX call. */
struct library_answer {
    enum probe_end end;
    bool loaded;
    char words[256];
    bool cuda; /* InitializeInjection */
    bool nvtx; /* InitializeInjectionNvtx2 */
};

void ask_driver(struct driver_answer *answer);
void ask_cupti(const char *path, struct cupti_answer *answer);
void ask_library(const char *path, struct library_answer *answer);

/* --- why a trace is empty --- */

struct convert_summary;

/* The traced program, for run_empty_warn(). */
struct run_program {
    const char *path;      /* of the program */
    char *const *argv;     /* its arguments, argv[0] first; NULL at the end */
    const char *ranks;     /* the list of --ranks; NULL if all ranks are recorded */
    const char *directory; /* the spool directory */
    bool torch;            /* the user asked for operators of PyTorch */
};

/* Prints a warning if the program or its CUDA calls were not recorded and the cause can be found. Must be called before
 * the spool directory is removed. */
void run_empty_warn(const struct run_program *program, const struct convert_summary *summary);

/* If this gputrace runs under another one, notes in the other's spool directory that this one records the program. */
void run_empty_note_nested(void);

#endif
