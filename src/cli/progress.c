/*
 * A thread shows the progress of a task that takes long. Writes the line of `run --live`, the last line of commands
 * that write a trace, and the messages of plugins. Signals that end the tool remove the unfinished trace. Signal
 * handlers for faults have their own stack, because the fault may be an overflow of the command's stack.
 */
#include "cli/progress.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "analysis/render/render.h"
#include "cli/trace_files.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "common/threads.h"
#include "symbols/symbols.h"
#include "trace/output.h"

#define TERMINAL_LINE_CLEAR "\r\x1b[K"
#define QUIET_NS NS_PER_S /* a task that ends earlier shows no progress */
#define EVERY_ON_TERMINAL (250 * NS_PER_MS)
#define EVERY_ELSEWHERE (5 * NS_PER_S)

/* The interval of a GPU's busy share, in ns before now: CUPTI has not collected the last half second yet. */
#define BUSY_FROM (1500 * NS_PER_MS)
#define BUSY_TO (500 * NS_PER_MS)

static void write_stderr(const char *bytes, size_t size)
{
    ssize_t written = write(STDERR_FILENO, bytes, size);
    (void)written; /* an error of stderr cannot be reported */
}

/* Shows "gputrace: TEXT", cut to the terminal's width, by one write(), so that other output is not mixed into it. */
static void terminal_line_show(const struct buffer *text)
{
    struct buffer line;
    buffer_init_memory(&line);
    buffer_text(&line, TERMINAL_LINE_CLEAR "gputrace: ");
    for (size_t at = 0, size; at < text->length; at += size) {
        char shown[UTF8_VISIBLE_BYTES];
        size_t width = utf8_visible(shown, text->data + at, text->length - at, &size);
        buffer_bytes(&line, shown, width);
    }
    struct winsize window;
    bool sized = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    size_t most = (sized ? window.ws_col : 80u) - 1 + strlen(TERMINAL_LINE_CLEAR);
    if (line.length > most)
        line.length = most;
    if (buffer_finish(&line) == 0)
        write_stderr(line.data, line.length);
    buffer_release(&line);
}

static void terminal_line_clear(void)
{
    write_stderr(TERMINAL_LINE_CLEAR, strlen(TERMINAL_LINE_CLEAR));
}

static void show(const struct progress *progress)
{
    uint64_t total = __atomic_load_n(&progress->made.total, __ATOMIC_RELAXED);
    uint64_t done = __atomic_load_n(&progress->made.done, __ATOMIC_RELAXED);
    struct buffer text;
    buffer_init_memory(&text);
    buffer_text(&text, progress->what);
    if (total > 0)
        buffer_format(&text, ": %.0f %%", 100 * (double)done / (double)total);
    buffer_format(&text, ", %llu s", (unsigned long long)((clock_monotonic() - progress->begun) / NS_PER_S));
    if (buffer_finish(&text) == 0)
        terminal_line_show(&text);
    buffer_release(&text);
}

static void *watch(void *context)
{
    struct progress *progress = context;
    bool shown = false;
    pthread_mutex_lock(&progress->lock);
    for (uint64_t time = progress->begun + QUIET_NS;; time += EVERY_ON_TERMINAL) {
        while (!progress->ended && monotonic_cond_wait(&progress->wake, &progress->lock, time) == 0)
            continue; /* woken before the time */
        if (progress->ended)
            break;
        show(progress);
        shown = true;
    }
    pthread_mutex_unlock(&progress->lock);
    if (shown)
        terminal_line_clear();
    return NULL;
}

void progress_begin(struct progress *progress, const char *format, ...)
{
    *progress = (struct progress){.begun = clock_monotonic(), .lock = PTHREAD_MUTEX_INITIALIZER};
    monotonic_cond_init(&progress->wake);
    va_list args;
    va_start(args, format);
    vsnprintf(progress->what, sizeof(progress->what), format, args);
    va_end(args);
    progress->runs = log_level() > LOG_QUIET && isatty(STDERR_FILENO) == 1 &&
                     threads_start(&progress->thread, 1, watch, progress) == 1;
}

void progress_end(struct progress *progress)
{
    if (!progress->runs)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->ended = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    progress->runs = false;
}

int progress_convert_spool(struct convert_options *options, struct convert_summary *summary)
{
    struct symbols *symbols = symbols_new(0); /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    struct progress progress;
    progress_begin(&progress, "writing '%s'", options->output);
    options->progress = &progress.made;
    options->namer = symbols ? &namer : NULL;
    int result = convert_spool(options, summary);
    progress_end(&progress);
    convert_plugins_release(&summary->plugins);
    symbols_free(symbols);
    return result;
}

static void put_busy(struct buffer *text, const struct live *live)
{
    uint64_t now = clock_now();
    const char *before = ", GPU ";
    for (uint32_t gpu = 0; gpu < LIVE_GPUS_MAX; gpu++) {
        double busy = live_busy(live, gpu, now - BUSY_FROM, now - BUSY_TO);
        if (busy < 0)
            continue;
        buffer_format(text, "%s%.0f %%", before, 100 * busy);
        before = " / ";
    }
    if (*before == ',')
        buffer_text(text, ", no GPU work yet");
    else
        buffer_text(text, " busy");
}

static void report(void *context, const struct live *live, uint64_t disk)
{
    struct live_line *line = context;
    struct buffer text;
    unsigned seconds = (unsigned)((clock_now() - live->started) / NS_PER_S);
    buffer_init_memory(&text);
    if (seconds >= 3600)
        buffer_format(&text, "%u:%02u:%02u", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        buffer_format(&text, "%u:%02u", seconds / 60, seconds % 60);
    buffer_format(&text, "  %s", text_count(live->events, "event").text);
    put_busy(&text, live);
    buffer_text(&text, ", ");
    summary_put_size(&text, live->memory);
    buffer_text(&text, " of GPU memory in use, ");
    summary_put_size(&text, live->recorded);
    buffer_text(&text, " recorded, ");
    summary_put_size(&text, disk);
    buffer_text(&text, " on disk");
    buffer_char(&text, '\0');
    text.length--;
    if (buffer_finish(&text) != 0)
        line->written = false;
    else if (line->terminal)
        terminal_line_show(&text);
    else
        notice("%s", text.data);
    buffer_release(&text);
    line->written = line->terminal;
}

struct drain_listener live_line_begin(struct live_line *line)
{
    *line = (struct live_line){.terminal = isatty(STDERR_FILENO) == 1};
    return (struct drain_listener){
        .report = report, .context = line, .every = line->terminal ? EVERY_ON_TERMINAL : EVERY_ELSEWHERE};
}

void live_line_end(struct live_line *line)
{
    if (line->written)
        terminal_line_clear();
    line->written = false;
}

static void (*volatile clean_also)(void);

void clean_when_asked(void (*clean)(void))
{
    clean_also = clean;
}

static void abandon(void)
{
    void (*clean)(void) = clean_also;
    output_abandon();
    launch_say_nothing();
    if (clean)
        clean();
}

void end_when_asked(const struct signals *signals, int status, const char *format, ...)
{
    static char message[6 * PATH_MAX + 128], fault[sizeof(message)]; /* static: signal handlers print these */
    static struct signals none;
    static char text[6 * PATH_MAX + 64];
    const char *clear = isatty(STDERR_FILENO) == 1 ? TERMINAL_LINE_CLEAR : "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(message, sizeof(message), "%sgputrace: interrupted: %s\n", clear, text);
    snprintf(fault, sizeof(fault), "%sgputrace: cannot go on: %s\n", clear, text);
    end_at_fault(abandon, fault, status);
    if (!signals) {
        signals = &none;
        sigprocmask(SIG_BLOCK, NULL, &none.inherited_mask);
        signal(SIGXFSZ, SIG_IGN); /* so that writing a file beyond the size limit fails with EFBIG */
    }
    signals_end_with(signals, abandon, message);
}

/* --- faults --- */

static struct {
    const char *volatile message; /* NULL: the process may exit */
    void (*tidy)(void);
    int status;
} last_words;

/* Ends the process. NUMBER: the signal of the fault, or 0 if a library called exit(). */
static void end(int number)
{
    const char *message = last_words.message;
    static const char fault[] = "gputrace: a fault: memory or stack may be short ('ulimit -a')\n";
    last_words.message = NULL;
    if (message && last_words.tidy)
        last_words.tidy();
    ssize_t written = number ? write(STDERR_FILENO, fault, sizeof(fault) - 1) : 0;
    written += message ? write(STDERR_FILENO, message, strlen(message)) : 0;
    (void)written; /* an error of stderr cannot be reported any more */
    _exit(last_words.status);
}

static void end_at_exit(void)
{
    if (last_words.message)
        end(0);
}

static void handle_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char space[64 << 10];
    const stack_t stack = {.ss_sp = space, .ss_size = sizeof(space)};
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)}, before;
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        if (sigaction(faults[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) /* not a sanitizer's */
            sigaction(faults[i], &action, NULL);
    atexit(end_at_exit);
}

void end_at_fault(void (*tidy)(void), const char *message, int status)
{
    static bool handled;
    last_words.tidy = tidy;
    last_words.status = status;
    last_words.message = message;
    if (message && !handled)
        handle_faults();
    handled = handled || message;
}

/* --- the last line about a trace, and messages of plugins --- */

#define VIEWER "https://ui.perfetto.dev"

void summary_put_size(struct buffer *buffer, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    double size = (double)bytes;
    for (; size >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        size /= 1000;
    buffer_format(buffer, "%.*f %s", unit == 0 || size >= 99.95 ? 0 : 1, size, units[unit]);
}

void summary_notice(struct buffer *line)
{
    buffer_char(line, '\0');
    if (buffer_finish(line) == 0)
        notice("%s", line->data);
    buffer_release(line);
}

static void put_losses(struct buffer *buffer, const struct convert_losses *losses)
{
    const char *separator = "; incomplete: ";
#define PUT(field, one, several)                                         \
    if (losses->field) {                                                 \
        buffer_text(buffer, separator);                                  \
        buffer_text(buffer, text_count(losses->field, NULL).text);       \
        buffer_text(buffer, losses->field == 1 ? " " one : " " several); \
        separator = ", ";                                                \
    }
    CONVERT_LOSSES(PUT)
#undef PUT
}

bool summary_is_incomplete(const struct convert_summary *summary)
{
    uint64_t all = 0;
#define JOIN(field, one, several) all |= summary->losses.field;
    CONVERT_LOSSES(JOIN)
#undef JOIN
    return all != 0 || *summary->missed;
}

/* Writes how the user can view the trace OUTPUT. */
static void put_way_on(struct buffer *line, const char *output, const struct convert_summary *summary)
{
    const char *ending = strstr(output, ".json");
    char smaller[PATH_MAX + 16];
    snprintf(smaller, sizeof(smaller), "%.*s.pftrace", ending ? (int)(ending - output) : (int)strlen(output), output);
    if (file_format_of(output)->packing == PACKING_DATABASE)
        buffer_format(line, "; to look at it, run 'sqlite3 %s' (gputrace-convert(1) has queries)", shell_file(output));
    else if (file_format_of(output)->sink == &chrome_json && summary->unpacked > BROWSER_JSON_MOST)
        buffer_format(line,
                      "; too large for a browser: 'gputrace convert %s %s' makes it smaller, "
                      "'gputrace report %s' reads it as it is",
                      shell_file(output), shell_file(smaller), shell_file(output));
    else
        buffer_format(line, "; to look at it, open " VIEWER " or run 'gputrace report %s'", shell_file(output));
}

void summary_print(const char *output, const struct convert_summary *summary, const struct output_place *place)
{
    struct buffer line;
    buffer_init_memory(&line);
    buffer_format(&line, "%s in '%s' (", text_count(summary->events, "event").text, output);
    summary_put_size(&line, summary->bytes);
    buffer_char(&line, ')');
    put_losses(&line, &summary->losses);
    if (summary->events > 0 && !summary->missed_all)
        put_way_on(&line, output, summary);
    if (place && place->moved)
        buffer_format(&line, "; the trace before it is '%s'", place->old);
    if (place && place->numbered)
        buffer_format(&line, "; '%.*s' is of another run", (int)(strlen(place->old) - strlen(".old")), place->old);
    if (*summary->missed) {
        buffer_text(&line, "; ");
        render_visible(&line, summary->missed, "");
    }
    summary_notice(&line);
}

#define WORTH_PRINTING 100 /* a plugin's time is printed if it exceeds this fraction of the program's time */

/* Writes the plugin's name, "leaks", or "leaks (process 583)" if several processes have plugins. */
static void put_name(struct buffer *out, const struct convert_plugins *plugins, const struct convert_plugin *plugin)
{
    bool several = plugins->items[0].pid != plugins->items[plugins->count - 1].pid;
    render_visible(out, plugin->name, "");
    if (several)
        buffer_format(out, " (process %u)", plugin->pid);
}

static void put_line(struct buffer *out, const struct convert_plugins *plugins, const struct convert_plugin *plugin,
                     const struct convert_line *line)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_bytes(&text, line->text, line->length);
    buffer_char(&text, '\0');
    buffer_text(out, "gputrace: ");
    put_name(out, plugins, plugin);
    buffer_text(out, ": ");
    if (buffer_finish(&text) == 0)
        render_visible(out, text.data, "");
    buffer_char(out, '\n');
    buffer_release(&text);
    frames_write(out, line->frames, line->frame_count, "    ");
}

void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const struct convert_plugin *plugin = &plugins->items[i];
        for (size_t k = 0; k < plugin->line_count; k++)
            put_line(out, plugins, plugin, &plugin->lines[k]);
    }
    for (size_t i = 0; i < plugins->count; i++) {
        const struct convert_plugin *plugin = &plugins->items[i];
        if (!every_time && plugin->ns <= run_ns / WORTH_PRINTING)
            continue;
        buffer_text(out, "gputrace: plugin ");
        put_name(out, plugins, plugin);
        buffer_text(out, ": ");
        buffer_text(out, text_count(plugin->calls, NULL).text);
        buffer_text(out, plugin->calls == 1 ? " call, " : " calls, ");
        if (plugin->ns >= NS_PER_S)
            buffer_format(out, "%.2f s\n", (double)plugin->ns / (double)NS_PER_S);
        else
            buffer_format(out, "%.1f ms\n", (double)plugin->ns / (double)NS_PER_MS);
    }
}
