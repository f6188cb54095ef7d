/*
 * Chooses width, colours and symbols by the terminal, the locale and the options. Finds the sections that -r names,
 * also by words of earlier versions. Writes a report to a file, which gets its name when it is complete, or to standard
 * output. The pager is a child process with a pipe, started at the first output.
 */
#include "cli/report_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/engine/section.h"
#include "cli/progress.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/text.h"
#include "launch/program.h"
#include "trace/output.h"

const struct option_choice report_units[] = {{"auto", REPORT_UNIT_AUTO}, {"ns", REPORT_UNIT_NS}, {"us", REPORT_UNIT_US},
                                             {"ms", REPORT_UNIT_MS},     {"s", REPORT_UNIT_S},   {NULL, 0}};
const struct option_choice report_colours[] = {
    {"auto", COLOUR_AUTO}, {"always", COLOUR_ALWAYS}, {"never", COLOUR_NEVER}, {NULL, 0}};
const struct option_choice report_name_forms[] = {{"pretty", REPORT_NAMES_PRETTY},
                                                  {"full", REPORT_NAMES_FULL},
                                                  {"short", REPORT_NAMES_SHORT},
                                                  {"mangled", REPORT_NAMES_MANGLED},
                                                  {NULL, 0}};

#define WIDTH_IN_FILES 120

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* Returns whether the locale is set and does not use UTF-8. */
static bool wants_ascii(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (is_set(variables[i]))
            return !strcasestr(getenv(variables[i]), "UTF-8") && !strcasestr(getenv(variables[i]), "utf8");
    return false;
}

static void choose(struct report_options *report, const struct report_style *style)
{
    bool for_people = report->format == REPORT_TABLE || report->format == REPORT_MARKDOWN;
    if (for_people && report->has_snapshot && report->sections == 0)
        report->sections = REPORT_BIT(REPORT_MEMORY);
    report->usual = for_people && report->sections == 0;
    if (!for_people && report->columns && strcmp(report->columns, "all") == 0)
        report->columns = NULL; /* programs get all columns, even empty ones */
    report->names = style->names >= 0 ? (enum report_names)style->names
                    : for_people      ? REPORT_NAMES_PRETTY
                                      : REPORT_NAMES_FULL;
    report->top = style->top >= 0 ? (size_t)style->top : for_people ? REPORT_TOP_OWN : 0;
}

void report_style_set(struct report_options *report, int fd, const struct report_style *style)
{
    struct winsize size;
    const char *kind = getenv("TERM");
    bool terminal = isatty(fd), sized = terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    bool shows_colour = terminal && !is_set("NO_COLOR") && !(kind && strcmp(kind, "dumb") == 0);
    report->width = style->width >= 0 ? (size_t)style->width : sized ? size.ws_col : WIDTH_IN_FILES;
    report->colour = style->colour == COLOUR_AUTO ? shows_colour : style->colour == COLOUR_ALWAYS;
    report->bars = report->colour || terminal;
    report->ascii = wants_ascii();
    choose(report, style);
}

/* --- words of -r: sections and their parts --- */

enum { WORD_ALL = REPORT_SECTION_COUNT, WORD_LIST };

const struct option_choice section_words[] = {
#define WORD(constant, name, word, ...) {word, REPORT_##constant},
#define NOTHING(...)
    REPORT_SECTIONS(WORD, NOTHING)
#undef WORD
#undef NOTHING
        {"all", WORD_ALL},
    {"list", WORD_LIST},
    {NULL, 0},
};

/* Returns the bit of the section whose own word WORD was in earlier versions, and which is a part of another section
 * now. Returns 0 for other words. */
static uint64_t take_old(const char *word, size_t length)
{
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const struct section_entry *entry = &section_list[i];
        if (entry->part_of == i || strlen(entry->word) != length || memcmp(entry->word, word, length) != 0)
            continue;
        notice("section '%s' is now part of '%s'", entry->word, section_list[entry->part_of].word);
        return REPORT_BIT(i);
    }
    return 0;
}

static bool is_compared(const struct option_choice *word)
{
    return word->value >= WORD_ALL || section_list[word->value].section->comparable.noun;
}

void section_words_compared(char *text, size_t size)
{
    *text = '\0';
    for (const struct option_choice *word = section_words; word->word; word++)
        if (is_compared(word))
            text_list_add(text, size, word->word);
}

int section_words_list(bool compared, enum report_format format)
{
    const char *gap = "[";
    if (format != REPORT_TABLE && format != REPORT_JSON)
        return error("'-r list' prints a table or JSON: use --format=json, or no --format");
    for (const struct option_choice *word = section_words; word->value < WORD_ALL; word++) {
        const char *question = section_list[word->value].question;
        if (compared && !is_compared(word))
            continue;
        if (format == REPORT_TABLE)
            printf("%-15s %s\n", word->word, question);
        else
            printf("%s\n  {\"section\": \"%s\", \"question\": \"%s\"}", gap, word->word, question);
        gap = ",";
    }
    printf("%s", format == REPORT_JSON ? "\n]\n" : "");
    return 0;
}

int section_words_take(const char *value, bool compared, uint64_t *sections, enum section_choice *choice)
{
    struct option_choice words[sizeof(section_words) / sizeof(*section_words)] = {0};
    size_t count = 0;
    for (const struct option_choice *word = section_words; word->word; word++)
        if (!compared || is_compared(word))
            words[count++] = *word;
    *sections = 0;
    *choice = SECTIONS_NAMED;
    for (const char *first = value;; value++) {
        size_t length = strcspn(value, ",");
        uint64_t old = compared ? 0 : take_old(value, length);
        const struct option_choice *word = old ? NULL : options_choose(words, "report", value, length);
        if (!word && !old)
            return OPTIONS_ERROR;
        bool list = word && word->value == WORD_LIST;
        if (list && (value > first || value[length] != '\0'))
            return error("--report: 'list' prints the sections, and stands alone: use -r list");
        if (word && word->value >= WORD_ALL)
            *choice = list ? SECTIONS_LISTED : SECTIONS_ALL;
        *sections |= old;
        for (unsigned i = 0; !old && i < REPORT_SECTION_COUNT; i++) /* none for WORD_ALL and WORD_LIST */
            *sections |= section_list[i].part_of == (unsigned)word->value ? REPORT_BIT(i) : 0;
        value += length;
        if (*value != '\0')
            continue;
        *sections = *choice == SECTIONS_NAMED ? *sections : 0;
        return 0;
    }
}

/* --- the pager --- */

/* A pager. Before it is started, all fields but PROGRESS are zero. */
struct pager {
    struct progress *progress; /* is ended before the pager starts */
    bool quit;                 /* the user has quit the pager before the end of output, which is not an error */
    bool tried;
    pid_t pid; /* 0: output goes directly to standard output */
    int input; /* pipe to the pager's standard input */
};

/* Returns the command of the user's pager, or NULL if there is none. A command whose first word is not installed does
 * not count, unless only a shell understands it, as in "LESS=F less". */
static const char *pager_command(void)
{
    const char *own = getenv("GPUTRACE_PAGER"), *any = getenv("PAGER");
    const char *chosen = own ? own : any ? any : "less";
    size_t length = strcspn(chosen, " \t");
    char word[PATH_MAX];
    if (!*chosen || strcmp(chosen, "cat") == 0)
        return NULL;
    snprintf(word, sizeof(word), "%.*s", (int)length, chosen);
    return strcspn(chosen, "=|&;<>()$`\\\"'*?[#~") < length || program_is_there(word) ? chosen : NULL;
}

static void start(struct pager *pager)
{
    const char *chosen = !isatty(STDOUT_FILENO) ? NULL : pager_command();
    int ends[2];
    pager->tried = true;
    if (!chosen || pipe2(ends, O_CLOEXEC) != 0)
        return;
    signal(SIGPIPE, SIG_IGN);
    pager->pid = fork();
    if (pager->pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        setenv("LESS", "FRX", 0); /* less then ends if all fits, keeps colours, and leaves the text */
        setenv("LV", "-c", 0);
        dup2(ends[0], STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", chosen, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (pager->pid < 0) {
        pager->pid = 0;
        close(ends[1]);
        return;
    }
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the pager from now on */
    pager->input = ends[1];
}

/* A buffer_drain (common/buffer.h) that starts the pager at the first output. CONTEXT: a struct pager. */
static int pager_drain(void *context, const char *data, size_t size)
{
    struct pager *pager = context;
    if (!pager->tried) {
        progress_end(pager->progress);
        start(pager);
    }
    if (pager->quit)
        return 0;
    if (pager->pid == 0)
        return buffer_drain_fd(BUFFER_FD(STDOUT_FILENO), data, size);
    int status = buffer_drain_fd(BUFFER_FD(pager->input), data, size);
    pager->quit = status < 0 && errno == EPIPE;
    return pager->quit ? 0 : status;
}

int pager_take_none(void *context, const char *value)
{
    (void)context;
    (void)value;
    return setenv("GPUTRACE_PAGER", "", 1);
}

/* --- where a report goes --- */

int page_file_check(const char *path, bool other_format)
{
    if (other_format)
        return error("--html writes a page, and --format asks for another format: use one of them");
    if (text_ends_with(path, ".html") || text_ends_with(path, ".htm"))
        return 0;
    /* If the page's name was forgotten, the argument is a trace, which must not be replaced by a page. */
    return error("--html: '%s' does not end in .html (try --html report.html)", path);
}

/* Writes to standard output or to a pager. Progress ends before the first output. */
static int write_text(struct progress *progress, int (*write)(void *context, struct buffer *out), void *context)
{
    struct pager pager = {.progress = progress};
    struct buffer out;
    buffer_init(&out, pager_drain, &pager);
    int status = write(context, &out);
    int failure = buffer_finish(&out);
    progress_end(progress);
    buffer_release(&out);
    if (pager.pid != 0) {
        close(pager.input);
        while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
            continue; /* until the user has quit the pager */
        signal(SIGINT, SIG_DFL);
    }
    return failure ? error("cannot write to standard output: %s", strerror(failure)) : status;
}

int page_file_write(const char *path, const char *traces, int (*write)(void *context, struct buffer *out),
                    void *context)
{
    struct output output;
    struct progress progress;
    uint64_t bytes;
    progress_begin(&progress, "reading %s", traces);
    if (!path)
        return write_text(&progress, write, context);
    end_when_asked(NULL, EXIT_FAILURE, "'%s' was not written", path);
    int opened = output_open(&output, path), status = opened < 0 ? -1 : write(context, &output.buffer);
    progress_end(&progress);
    if (opened < 0)
        return -1;
    if (status < 0) {
        output_discard(&output);
        return status;
    }
    return output_commit(&output, &bytes) < 0 ? -1 : status;
}
