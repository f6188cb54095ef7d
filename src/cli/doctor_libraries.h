/*
 * Asks libcuda, libcupti and libgputrace.so for their versions and functions. Each library is loaded in a child
 * process, so that its crash, its output and its threads do not affect the tool.
 *
 * No NVIDIA header is needed: the few functions called here are looked up by name and have had these prototypes in
 * every version.
 */
#ifndef GPUTRACE_CLI_DOCTOR_LIBRARIES_H
#define GPUTRACE_CLI_DOCTOR_LIBRARIES_H

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

/* Initialises CUDA in a child process. Returns whether that fails, and writes the reason into WORDS: "CUDA found no
 * driver". */
bool doctor_lacks_cuda(char *words, size_t size);

#endif
