/* Parses --cpu, starts the recorder of CPU samples and warns about what this user may not record. */
#include "cli/run_cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"

#define HERTZ_USUAL 1000u
#define HERTZ_MOST 10000u

static int parse_hertz(const char *text, size_t length, unsigned *hertz)
{
    unsigned long number = 0;
    for (size_t i = 0; i < length && number <= HERTZ_MOST; i++)
        number = text[i] >= '0' && text[i] <= '9' ? number * 10 + (unsigned long)(text[i] - '0') : HERTZ_MOST + 1;
    if (length == 0 || number == 0 || number > HERTZ_MOST)
        return error("--cpu: 'samples:%.*s' is not valid: use a number of samples a second from 1 to %u", (int)length,
                     text, HERTZ_MOST);
    *hertz = (unsigned)number;
    return 0;
}

static int parse_word(const char *word, size_t length, struct perf_wanted *wanted)
{
    static const char samples[] = "samples", switches[] = "switches";
    size_t name = sizeof(samples) - 1;
    if (length == sizeof(switches) - 1 && strncmp(word, switches, length) == 0) {
        wanted->switches = true;
        return 0;
    }
    if (length < name || strncmp(word, samples, name) != 0 || (length > name && word[name] != ':'))
        return error("--cpu: '%.*s' is not valid: use samples, samples:HZ, switches, or both separated by a comma",
                     (int)length, word);
    wanted->hertz = HERTZ_USUAL;
    return length > name ? parse_hertz(word + name + 1, length - name - 1, &wanted->hertz) : 0;
}

int cpu_list_parse(const char *text, struct perf_wanted *wanted)
{
    *wanted = (struct perf_wanted){0};
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        if (parse_word(word, length, wanted) < 0)
            return -1;
        word += length;
        if (!*word)
            return 0;
    }
}

/* Prints in one line what this user, or this machine, cannot record. */
static void say_what_lacks(const struct perf_wanted *wanted, const struct perf_able *able)
{
    const char *lacks[4];
    size_t count = 0;
    char text[256];
    if (wanted->hertz && !able->kernel)
        lacks[count++] = "samples of time in system calls";
    if (wanted->hertz && !able->stack_copy)
        lacks[count++] = "call stacks of code without frame pointers";
    if (wanted->switches && !able->leave_stack)
        lacks[count++] = "call stacks of switches";
    if (wanted->switches && !able->states)
        lacks[count++] = "wakers and disk waits";
    int length = 0;
    for (size_t i = 0; i < count; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%s",
                           i == 0          ? ""
                           : i + 1 < count ? ", "
                                           : " and ",
                           lacks[i]);
    if (count > 0)
        notice("--cpu: the trace will have no %s: this needs more rights (gputrace-run(1))", text);
}

struct cpu_recorder *run_cpu_start(const struct cpu_recording *recording)
{
    char reason[PERF_REASON_BYTES];
    struct perf_able able;
    if (recording->wanted.hertz == 0 && !recording->wanted.switches)
        return NULL;
    struct cpu_recorder *recorder = cpu_recorder_start(recording, &able, reason);
    if (recorder)
        say_what_lacks(&recording->wanted, &able);
    else
        warning("--cpu: the trace will have no CPU samples and switches: %s", reason);
    return recorder;
}

void run_cpu_stop(struct cpu_recorder *recorder)
{
    if (!recorder)
        return;
    struct cpu_figures figures = cpu_recorder_stop(recorder);
    verbose("%" PRIu64 " CPU samples and %" PRIu64 " times off the processor, read in %.3f s of a processor",
            figures.samples, figures.states, (double)figures.processor / (double)NS_PER_S);
}
