#include "tool/cli/live_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sink.h"
#include "tool/cli/summary.h"

#define EVERY_ON_TERMINAL (250 * NS_PER_MS)
#define EVERY_ELSEWHERE (5 * NS_PER_S)

/* Of which time GPUs are said to be busy: what the library has not handed over yet is left out. */
#define BUSY_FROM (1500 * NS_PER_MS)
#define BUSY_TO (500 * NS_PER_MS)

#define CLEAR "\r\x1b[K"

static void put_seconds(struct sink *text, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_S;
    if (seconds >= 3600)
        sink_format(text, "%u:%02u:%02u", (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60),
                    (unsigned)(seconds % 60));
    else
        sink_format(text, "%u:%02u", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
}

static void put_busy(struct sink *text, const struct live *live)
{
    uint64_t now = clock_now();
    const char *before = ", GPU ";
    for (uint32_t gpu = 0; gpu < LIVE_GPUS_MAX; gpu++) {
        double busy = live_busy(live, gpu, now - BUSY_FROM, now - BUSY_TO);
        if (busy < 0)
            continue;
        sink_format(text, "%s%.0f %%", before, 100 * busy);
        before = " / ";
    }
    if (*before == ',')
        sink_text(text, ", no GPU work yet");
    else
        sink_text(text, " busy");
}

static void put_line(struct sink *text, const struct live *live, uint64_t disk)
{
    put_seconds(text, clock_now() - live->started);
    sink_format(text, "  %llu event%s", (unsigned long long)live->events, live->events == 1 ? "" : "s");
    put_busy(text, live);
    sink_text(text, ", ");
    summary_put_size(text, live->memory);
    sink_text(text, " of GPU memory in use, ");
    summary_put_size(text, live->recorded);
    sink_text(text, " recorded, ");
    summary_put_size(text, disk);
    sink_text(text, " on disk");
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* In one write, so that what the program writes does not come between. */
static void write_stderr(const char *bytes, size_t size)
{
    ssize_t written = write(STDERR_FILENO, bytes, size);
    (void)written; /* nowhere to complain */
}

static void tell(void *context, const struct live *live, uint64_t disk)
{
    struct live_line *line = context;
    struct sink text;
    sink_init_memory(&text);
    sink_text(&text, line->terminal ? CLEAR "gputrace: " : "gputrace: ");
    put_line(&text, live, disk);
    size_t most = columns() - 1 + strlen(CLEAR);
    if (!line->terminal)
        sink_char(&text, '\n');
    else if (text.length > most)
        text.length = most; /* a longer one would begin another line */
    if (sink_finish(&text) == 0)
        write_stderr(text.data, text.length);
    sink_release(&text);
    line->written = line->terminal;
}

struct drain_listener live_line_begin(struct live_line *line)
{
    *line = (struct live_line){.terminal = isatty(STDERR_FILENO) == 1};
    return (struct drain_listener){
        .tell = tell, .context = line, .every = line->terminal ? EVERY_ON_TERMINAL : EVERY_ELSEWHERE};
}

void live_line_end(struct live_line *line)
{
    if (line->written)
        write_stderr(CLEAR, strlen(CLEAR));
    line->written = false;
}
