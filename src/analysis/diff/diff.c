#include "analysis/diff/diff.h"

#include <stdlib.h>

#include "common/log.h"
#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_rows.h"
#include "analysis/diff/diff_whole.h"
#include "analysis/diff/diff_write.h"

/* Returns how many conditions are met, or -1 after error(). */
static int check_conditions(const struct diff *diff, struct diff_outcome *outcomes)
{
    int met = 0;
    for (size_t i = 0; i < diff->options->conditions.count; i++) {
        if (diff_conditions_check(diff, &diff->options->conditions.items[i], &outcomes[i]) < 0)
            return -1;
        met += outcomes[i].met;
    }
    return met;
}

static int compare(struct diff *diff, struct diff_outcome *outcomes, struct buffer *out)
{
    if (diff_judge(diff) < 0 || diff_explain(diff) < 0)
        return error_no_memory("a comparison");
    int met = check_conditions(diff, outcomes);
    if (met < 0)
        return -1;
    int status =
        diff->options->format == DIFF_JUNIT ? diff_write_junit(diff, outcomes, out) : diff_write(diff, outcomes, out);
    return status < 0 ? -1 : met > 0;
}

int diff_files(const struct diff_options *options, struct buffer *out)
{
    struct diff diff;
    struct diff_outcome *outcomes = calloc(options->conditions.count + 1, sizeof(*outcomes));
    if (!outcomes)
        return error_no_memory("conditions");
    int status = diff_read(&diff, options);
    if (status == 0)
        status = compare(&diff, outcomes, out);
    diff_release(&diff);
    free(outcomes);
    return status;
}
