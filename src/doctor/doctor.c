#include "doctor/doctor.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "common/buffer.h"
#include "doctor/check.h"

static const struct {
    const char *title;
    void (*check)(const struct check_context *context, struct finding *finding);
} checks[] = {
#define CHECK(function, title) {title, function},
    DOCTOR_CHECKS(CHECK)
#undef CHECK
};

void finding_set(struct finding *finding, enum verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    finding->verdict = verdict;
}

void finding_set_fix(struct finding *finding, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(finding->fix, sizeof(finding->fix), format, args);
    va_end(args);
}

static void print(const char *title, const struct finding *finding, struct buffer *out)
{
    static const char *const verdicts[] = {"ok", "note", "problem"};
    buffer_format(out, "%-8s %-15s %s\n", verdicts[finding->verdict], title, finding->text);
    if (*finding->fix)
        buffer_format(out, "%-8s %-15s to mend: %s\n", "", "", finding->fix);
}

int doctor_examine(const struct doctor_options *options, struct buffer *out)
{
    struct check_context context = {.options = options};
    ask_driver(&context.driver);
    int problems = 0;
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        struct finding finding = {0};
        checks[i].check(&context, &finding);
        problems += finding.verdict == VERDICT_PROBLEM;
        print(checks[i].title, &finding, out);
    }
    if (problems == 0)
        buffer_text(out, "\nA CUDA program can be traced here.\n");
    else
        buffer_format(out, "\n%d problem%s: a CUDA program cannot be traced here, or not wholly.\n", problems,
                      problems == 1 ? "" : "s");
    return problems;
}

bool doctor_lacks_cuda(char *words, size_t size)
{
    enum { NO_DEVICE = 100 }; /* CUDA_ERROR_NO_DEVICE */
    struct driver_answer driver;
    ask_driver(&driver);
    if (driver.end == PROBE_NOT_ASKED)
        return false;
    if (driver.end != PROBE_ANSWERED)
        snprintf(words, size, "CUDA's driver %s when it is started", driver.end == PROBE_CRASHED ? "crashes" : "hangs");
    else if (!driver.loaded)
        snprintf(words, size, "CUDA found no driver");
    else if (driver.result == NO_DEVICE || (driver.result == 0 && driver.devices == 0))
        snprintf(words, size, "CUDA found no GPU");
    else
        snprintf(words, size, "CUDA's driver does not start (%d: %s)", driver.result, driver.words);
    return driver.end != PROBE_ANSWERED || driver.result != 0 || driver.devices == 0;
}
