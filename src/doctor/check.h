/*
 * One check of the doctor, and what it found.
 */
#ifndef GPUTRACE_DOCTOR_CHECK_H
#define GPUTRACE_DOCTOR_CHECK_H

#include "doctor/libraries.h"

enum verdict {
    VERDICT_OK,
    VERDICT_NOTE,    /* worth knowing; tracing works */
    VERDICT_PROBLEM, /* tracing does not work, or not wholly */
};

struct doctor_options;

/* What the checks look at. */
struct check_context {
    const struct doctor_options *options;
    struct driver_answer driver;
};

struct finding {
    enum verdict verdict;
    char text[1024]; /* what was found */
    char fix[1024];  /* what to do about it; "" when nothing has to be done */
};

/* Sets a finding's verdict and text. */
void finding_set(struct finding *finding, enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets how to fix it. */
void finding_set_fix(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*      function        title */
#define DOCTOR_CHECKS(X)                \
    X(check_gpu, "GPU")                 \
    X(check_driver, "driver")           \
    X(check_toolkit, "CUDA toolkit")    \
    X(check_cupti, "CUPTI")             \
    X(check_library, "libgputrace.so")  \
    X(check_nvtx, "NVTX")               \
    X(check_environment, "environment") \
    X(check_permissions, "permissions") \
    X(check_disk, "disk")               \
    X(check_leftovers, "leftovers")

#define CHECK(function, title) void function(const struct check_context *context, struct finding *finding);
DOCTOR_CHECKS(CHECK)
#undef CHECK

#endif
