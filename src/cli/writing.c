#include "cli/writing.h"

#include <limits.h>
#include <stdio.h>

#include "cli/terminal_line.h"
#include "launch/signals.h"
#include "trace/output.h"

void writing_ends_with(const struct signals *signals, const char *directory)
{
    static char last_words[2 * PATH_MAX + 128]; /* the handler's, which may come at any time */
    snprintf(
        last_words, sizeof(last_words),
        "%sgputrace: interrupted: what was recorded stays in '%s': 'gputrace recover %s -o FILE' makes the trace of "
        "it\n",
        terminal_line_possible() ? TERMINAL_LINE_CLEAR : "", directory, directory);
    signals_on_end(output_abandon);
    signals_end_with(signals, last_words);
}
