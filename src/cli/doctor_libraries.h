/*
 * What libcuda, libcupti and libgputrace.so report about themselves, each loaded in a child process, so that its crash,
 * its output and its threads do not affect the tool.
 *
 * No header of NVIDIA's is needed: the few functions called here are looked up by name and have had these prototypes in
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
    PROBE_CRASHED,   /* a signal or exit ended it before the answer */
    PROBE_TOO_SLOW,  /* no answer within PROBE_SECONDS: it was killed */
    PROBE_NOT_ASKED, /* no process could be made */
};
#define PROBE_SECONDS 30

/* Calls ASK in a child process, with QUESTION and SIZE zero bytes for its answer, which are copied to ANSWER. */
enum probe_end probe(void (*ask)(const void *question, void *answer), const void *question, void *answer, size_t size);

struct driver_answer {
    enum probe_end end;
    bool loaded;
    char words[256]; /* why it was not loaded, or of cuInit's failure */
    int version;     /* 13000 is CUDA 13.0 */
    int result;      /* of cuInit, which makes no context; 0: done */
    int devices;
    char device[128]; /* name of the first */
};

struct cupti_answer {
    enum probe_end end;
    bool loaded;
    char words[256];  /* why it was not loaded, or of cuptiSubscribe's failure */
    char path[512];   /* of the file that was loaded */
    uint32_t version; /* 18 is CUDA 11.8, 130000 CUDA 13.0 */
    int result;       /* of cuptiSubscribe; 0: done */
};

/* Entry points that the driver and NVTX look for in libgputrace.so. */
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

/* Whether CUDA cannot be initialised here, as found out in a child process. WORDS becomes the reason: "CUDA found no
 * driver". */
bool doctor_lacks_cuda(char *words, size_t size);

#endif
