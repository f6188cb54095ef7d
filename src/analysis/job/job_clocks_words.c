/*
 * Compares the letters of names with a table, and writes offsets, drifts and uncertainties in units that suit them.
 */
#include "analysis/job/job_clocks_words.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/job/job_clocks.h"

#define WORD 40

/* The letters of NAME in lower case, without what says whose the operation is. */
static const char *plain_word(const char *name, char word[WORD])
{
    size_t length = 0;
    for (; *name && length < WORD - 1; name++)
        if (isalnum((unsigned char)*name))
            word[length++] = (char)tolower((unsigned char)*name);
    word[length] = '\0';
    static const char *const prefixes[] = {"c10d", "nccl", "mpi"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
            word += strlen(prefixes[i]);
    return word;
}

/* Whether what follows the operation's name leaves it what it is: "_allgather_base", "allreduce_coalesced". */
static bool is_variant(const char *rest)
{
    static const char *const variants[] = {"", "base", "coalesced", "oop", "tensor", "tensorcoalesced", "intotensor"};
    for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
        if (strcmp(rest, variants[i]) == 0)
            return true;
    return false;
}

unsigned job_clock_roles(const char *operation, bool root)
{
    enum { BOTH = JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES };
    /* Those that return at once (MPI_Iallreduce) and those with sizes of each rank's own, which may be 0
     * (MPI_Alltoallv), are not here. */
    static const struct {
        const char *word;
        unsigned root, others;
    } operations[] = {
        {"allreduce", BOTH, BOTH},
        {"allgather", BOTH, BOTH},
        {"reducescatter", BOTH, BOTH},
        {"alltoall", BOTH, BOTH},
        {"barrier", BOTH, BOTH},
        {"broadcast", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"bcast", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"scatter", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"reduce", JOB_CLOCK_RECEIVES, JOB_CLOCK_SENDS},
        {"gather", JOB_CLOCK_RECEIVES, JOB_CLOCK_SENDS},
        {"send", JOB_CLOCK_SENDS, JOB_CLOCK_SENDS},
        {"isend", JOB_CLOCK_SENDS, JOB_CLOCK_SENDS},
        {"recv", JOB_CLOCK_RECEIVES, JOB_CLOCK_RECEIVES},
    };
    char letters[WORD];
    const char *word = plain_word(operation, letters);
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
        size_t length = strlen(operations[i].word);
        if (strncmp(word, operations[i].word, length) == 0 && is_variant(word + length))
            return root ? operations[i].root : operations[i].others;
    }
    return 0;
}

/* A time with the unit that suits it. */
static void put_time(struct buffer *text, double ns)
{
    static const struct {
        double from, ns;
        const char *unit;
    } units[] = {{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {0, 1e3, "us"}};
    size_t i = 0;
    while (ns < units[i].from)
        i++;
    buffer_format(text, i == 2 ? "%.1f %s" : "%.3f %s", ns / units[i].ns, units[i].unit);
}

static void describe_known(struct buffer *text, const struct job_clock *clock, const char *reference)
{
    put_time(text, fabs((double)clock->offset_ns));
    buffer_format(text, " %s that of %s, drift %+.3f ppm; corrected, ± ", clock->offset_ns < 0 ? "behind" : "ahead of",
                  reference, clock->drift_ppm);
    put_time(text, clock->uncertainty_ns);
    buffer_format(text, " (%s", text_count(clock->operations, "operation").text);
    if (clock->steps > 1)
        buffer_format(text, ", joined through %s", text_count(clock->steps - 1, "host").text);
    if (clock->outliers > 0)
        buffer_format(text, ", %s of %s contradict and were left out", text_count(clock->outliers, NULL).text,
                      text_count(clock->bounds, "bound").text);
    buffer_text(text, ")");
}

void job_clock_describe(struct buffer *text, const struct job_clock *clock, const char *host, const char *reference)
{
    buffer_format(text, "clock of %s: ", host);
    switch (clock->state) {
    case JOB_CLOCK_REFERENCE: buffer_text(text, "the times of all hosts are given by it"); return;
    case JOB_CLOCK_KNOWN: describe_known(text, clock, reference); return;
    case JOB_CLOCK_CONTRADICTING:
        buffer_format(text, "not corrected, because the operations with other hosts contradict each other (%s of %s)",
                      text_count(clock->outliers, NULL).text, text_count(clock->bounds, "bound").text);
        return;
    case JOB_CLOCK_NO_EVIDENCE:
        buffer_format(text, "not corrected, because no operation joins it to %s", reference);
        return;
    }
}

void job_clock_describe_system(struct buffer *text, int64_t synchronised, int64_t error_us)
{
    if (synchronised < 0)
        return;
    buffer_format(text, "its system says that it is %ssynchronised", synchronised ? "" : "not ");
    if (!synchronised || error_us < 0)
        return;
    buffer_text(text, ", wrong by at most ");
    put_time(text, (double)error_us * 1e3);
}
