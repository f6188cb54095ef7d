/*
 * Prints the last line of `gputrace run` and the messages of plugins. For an empty trace, prints the likely cause,
 * which it finds by the command line and by notes in the spool directory.
 */
#include "cli/summary.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/render/render.h"
#include "cli/doctor_libraries.h"
#include "cli/trace_files.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/spool.h"
#include "common/text.h"
#include "launch/program.h"
#include "symbols/elf_file.h"
#include "trace/meaning/passes/passes.h"
#include "trace/output.h"

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

/* --- why a trace is empty --- */

void run_empty_note_nested(void)
{
    char path[PATH_MAX];
    const char *outer = getenv("GPUTRACE_SPOOL");
    int length = outer ? snprintf(path, sizeof(path), "%s/" SPOOL_NESTED_FILE, outer) : -1;
    int fd = length < 0 || (size_t)length >= sizeof(path) ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static bool has_nested(const char *directory)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/" SPOOL_NESTED_FILE, directory);
    return length > 0 && (size_t)length < sizeof(path) && access(path, F_OK) == 0;
}

/* Programs and options that start other programs without gputrace's environment variables. The first row always does;
 * the others are reported for empty traces only. */
static const struct {
    const char *does, *starters[14];
} ways[] = {
    {"starts programs without the environment variables that load the recorder",
     {"env -i", "env -", "env --ignore-environment", "exec -c", "sudo", "doas", "setpriv --reset-env", "su -", "su -l",
      "su --login", "runuser -", "runuser -l", "bwrap --clearenv", NULL}},
    {"starts programs in a container",
     {"docker", "podman", "nerdctl", "apptainer", "singularity", "enroot", "kubectl", NULL}},
    {"starts programs on other hosts", {"ssh", "srun", "pdsh", NULL}},
    {"lets another process start programs", {"systemd-run", NULL}},
};
#define SEPARATORS " \t\n;&|()'\""

/* Reads the next word of a command line, which may be in an argument of a shell, and moves *AT behind it. Returns false
 * at the end. */
static bool next_word(char *const **argv, const char **at, char *word, size_t space)
{
    while (**argv) {
        *at = *at ? *at : **argv;
        *at += strspn(*at, SEPARATORS);
        size_t length = strcspn(*at, SEPARATORS);
        if (length > 0) {
            snprintf(word, space, "%.*s", length < space ? (int)length : 0, *at);
            *at += length;
            return true;
        }
        (*argv)++;
        *at = NULL;
    }
    return false;
}

/* Warns of the first program in the command line that starts others where they are not recorded. Returns whether it
 * warned. */
static bool warn_of_starter(const char *program, char *const *argv, bool empty)
{
    char word[PATH_MAX], name[64] = "", text[128], begin[PATH_MAX + 64] = "";
    const char *at = NULL;
    size_t count = empty ? sizeof(ways) / sizeof(*ways) : 1;
    if (empty)
        snprintf(begin, sizeof(begin), "'%s' used neither CUDA nor NVTX, and ", program);
    while (next_word(&argv, &at, word, sizeof(word))) {
        bool is_option = *word == '-';
        if (!is_option)
            snprintf(name, sizeof(name), "%.63s", program_name(word));
        snprintf(text, sizeof(text), "%s%s%.60s", name, is_option ? " " : "", is_option ? word : "");
        if (strstr(word, "_INJECTION64_PATH")) { /* "CUDA_INJECTION64_PATH", "--unset=NVTX_INJECTION64_PATH" */
            warning("%s'%s' changes by what programs load the recorder: without it they are not recorded", begin, word);
            return true;
        }
        for (size_t i = 0; i < count; i++)
            for (const char *const *starter = ways[i].starters; *starter; starter++)
                if (strcmp(text, *starter) == 0) {
                    bool login = strncmp(text, "su ", 3) == 0 || strncmp(text, "runuser ", 8) == 0;
                    warning("%s'%s' %s, which are not recorded: start gputrace behind it, as in '%s ... %s'", begin,
                            text, ways[i].does, text, login ? "-c \"gputrace run PROGRAM\"" : "gputrace run PROGRAM");
                    return true;
                }
    }
    return false;
}

void run_empty_warn(const struct run_program *run, const struct convert_summary *summary)
{
    const char *program = run->argv[0];
    bool empty = summary->processes == 0;
    const char *torch = run->torch ? ", and no process of Python (3.8 or newer) loaded PyTorch" : "";
    struct elf_facts facts = elf_facts_read(run->path);
    char words[512];
    if (has_nested(run->directory))
        warning("'%s' started another gputrace: what that one ran is in its trace and not in this one", program);
    else if (empty && facts.is_static)
        warning("'%s' is statically linked: nothing can be loaded into it, and %s", program,
                summary->cpu ? "the trace has only what --cpu records" : "nothing was recorded");
    else if (empty && run->ranks && summary->losses.unrecorded == 0)
        warning("no process that used CUDA or NVTX was one of the ranks '%s' (--ranks)", run->ranks);
    else if (empty && facts.is_for_musl)
        warning("'%s' is for the C library musl: libgputrace.so, which is for glibc, cannot be loaded into it",
                program);
    else if (empty && summary->losses.unrecorded > 0)
        return;
    else if (warn_of_starter(program, run->argv, empty) || (!empty && (summary->cuda || !facts.has_kernels)))
        return;
    else if (doctor_lacks_cuda(words, sizeof(words)))
        warning("%s, and '%s' %s%s%s: 'gputrace doctor' says what CUDA needs", words, program,
                empty ? "used no NVTX" : "was recorded without it", empty ? torch : "",
                !empty         ? ""
                : summary->cpu ? ", so the trace has only what --cpu records"
                               : ", so the trace is empty");
    else if (empty && !summary->cpu)
        warning("'%s' used neither CUDA nor NVTX%s: the trace is empty; what it starts without the environment "
                "variables of gputrace is not recorded",
                program, torch);
}
