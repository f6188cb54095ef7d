/*
 * The table of commands, `gputrace help`, the message for a word that is not a command, and `gputrace complete
 * WORD...`, which the shells' completion files (completion.bash, .zsh, .fish) call: it completes words by the rows of
 * commands and options. A command runs on a large stack in its thread, by means of ucontext.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "cli/progress.h"
#include "cli/options.h"
#include "trace/output.h"

/* --- completion: gputrace complete --- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* If WORD begins with TYPED, prints BEFORE, WORD and the first line of TEXT. */
static void print_match(const char *typed, const char *before, const char *word, const char *text)
{
    if (begins(word, typed))
        printf("%s%s\t%.*s\n", before, word, (int)strcspn(text, "\n"), text);
}

/* Completes TEXT, an argument of the option ROW. BEFORE is the part of the typed word before TEXT. */
static void complete_argument(const struct option_row *row, const char *before, const char *text)
{
    const char *comma = begins(row->argument, "LIST") ? strrchr(text, ',') : NULL, *last = comma ? comma + 1 : text;
    bool minus = comma && *last == '-'; /* "all,-sync" takes a word out of the list */
    char head[512];
    snprintf(head, sizeof(head), "%s%.*s", before, (int)(last - text + minus), text);
    for (const struct option_choice *choice = row->choices; choice && choice->word; choice++)
        print_match(last + minus, head, choice->word, "");
    char list[4096];
    if (row->list)
        row->list(list, sizeof(list));
    for (char *rest = row->list ? list : NULL, *word; (word = strsep(&rest, ","));)
        print_match(last + minus, head, word + strspn(word, " "), "");
    if (strcmp(row->argument, "DIR") == 0)
        puts(":folders");
    else if (strcmp(row->argument, "FILE") == 0 || strcmp(row->argument, "TRACE...") == 0)
        puts(":files");
}

static void complete_option(const struct command *command, const char *typed)
{
    for (const struct option_row *row = command->options; row->word; row++) {
        char word[64];
        snprintf(word, sizeof(word), "--%s%s", row->word, row->argument ? "=" : "");
        print_match(typed, "", word, row->help);
    }
    print_match(typed, "", "--help", "print this help");
}

/* Returns the row of the option with an argument that the LENGTH bytes at WORD name ("--output", "-o"), or NULL. */
static const struct option_row *find_row(const struct command *command, const char *word, size_t length)
{
    for (const struct option_row *row = command->options; row->word; row++) {
        bool is_long = length > 2 && strlen(row->word) == length - 2 && memcmp(word + 2, row->word, length - 2) == 0;
        bool is_short = length == 2 && row->letter && word[1] == row->letter;
        if (*word == '-' && row->argument && (is_long || is_short))
            return row;
    }
    return NULL;
}

/* Returns the index of the program among the COUNT words behind `gputrace run`, or COUNT. */
static int find_program(const struct command *command, int count, char **words)
{
    int i = 0;
    while (i < count && *words[i] == '-' && strcmp(words[i], "--") != 0) {
        bool split = i + 1 < count && strcmp(words[i + 1], "=") == 0;
        i += split ? 3 : find_row(command, words[i], strlen(words[i])) ? 2 : 1;
    }
    if (i < count && strcmp(words[i], "--") == 0)
        i++;
    return i < count ? i : count;
}

/* Completes the last of the COUNT words behind COMMAND's name. */
static void complete_after(const struct command *command, int count, char **words)
{
    int end = count - 1, program = command == &command_run ? find_program(command, end, words) : end;
    const char *typed = words[end], *equals = strchr(typed, '=');
    if (program < end) {
        printf(":program %d\n", count - program);
        return;
    }
    bool starts_value = end > 0 && strcmp(typed, "=") == 0, in_value = end > 1 && strcmp(words[end - 1], "=") == 0;
    const char *option = starts_value ? words[end - 1] : in_value ? words[end - 2] : end > 0 ? words[end - 1] : "";
    const struct option_row *row = find_row(command, option, strlen(option));
    if (row)
        complete_argument(row, "", starts_value ? "" : typed);
    else if (begins(typed, "--") && equals && (row = find_row(command, typed, (size_t)(equals - typed)))) {
        char before[64];
        snprintf(before, sizeof(before), "--%s=", row->word);
        complete_argument(row, before, equals + 1);
    } else if (*typed == '-')
        complete_option(command, typed);
    else if (command != &command_doctor)
        puts(command == &command_run ? ":commands" : command == &command_recover ? ":folders" : ":files");
}

/*
 * Prints the possible completions of the last of the COUNT words behind "gputrace", one on each line, followed by a tab
 * and a description if there is one. A line that begins with a colon asks the shell to complete:
 *
 *     :files, :folders, :commands
 *     :program N       the last N words are a command line of another program
 *
 * Bash splits words at "=", so that "--option", "=" and "value" are three words. Then only values are printed.
 */
static void complete_words(const struct command *const *commands, size_t command_count, int count, char **words)
{
    if (count == 2 && strcmp(words[0], "help") == 0)
        count--, words++;
    else if (count > 1) {
        for (size_t i = 0; i < command_count; i++)
            if (strcmp(commands[i]->name, words[0]) == 0)
                complete_after(commands[i], count - 1, words + 1);
        return;
    }
    const char *typed = count == 1 ? words[0] : "";
    for (size_t i = 0; i < command_count; i++)
        print_match(typed, "", commands[i]->name, commands[i]->summary);
    print_match(typed, "", "help", "Explains a command");
    if (*typed == '-') {
        print_match(typed, "", "--help", "print the commands");
        print_match(typed, "", "--version", "print the version");
    }
}

/* --- commands --- */

static const struct command *const commands[] = {&command_run,     &command_report,  &command_diff,  &command_view,
                                                 &command_recover, &command_convert, &command_cut,   &command_merge,
                                                 &command_doctor,  &command_ps,      &command_start, &command_stop};
#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Commands of other tools (Nsight Systems, perf, nvprof) and the commands here that correspond to them. */
static const struct {
    const char *word;
    const struct command *command;
} other_words[] = {
    {"profile", &command_run},    {"record", &command_run},     {"trace", &command_run},
    {"launch", &command_run},     {"start", &command_run},      {"exec", &command_run},
    {"stats", &command_report},   {"analyze", &command_report}, {"analyse", &command_report},
    {"stat", &command_report},    {"summary", &command_report}, {"browse", &command_view},
    {"show", &command_report},    {"open", &command_view},      {"export", &command_convert},
    {"script", &command_convert}, {"check", &command_doctor},   {"status", &command_doctor},
    {"compare", &command_diff},   {"join", &command_merge},
};

static bool is_trace(const char *name)
{
    struct stat status;
    const struct file_format *format = file_format_of(name);
    bool readable = format->content == FILE_EVENTS && format->packing != PACKING_DATABASE;
    return (readable && file_format_is_known(name)) ||
           (stat(name, &status) == 0 && S_ISREG(status.st_mode) && access(name, X_OK) != 0);
}

/* What NAME, in the place of a command, is likely to mean; NULL: not known. */
static const char *command_meant(const char *name)
{
    struct suggestion nearest = suggestion_for(name, strlen(name));
    for (size_t i = 0; i < sizeof(other_words) / sizeof(*other_words); i++)
        if (strcmp(other_words[i].word, name) == 0)
            return other_words[i].command->name;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        suggestion_consider(&nearest, commands[i]->name);
    return nearest.word;
}

/* Prints an error about ARGV[0], which is not a command, and suggests a command line with the words that follow it. */
static int unknown_command(int argc, char **argv)
{
    const char *name = argv[0], *meant = command_meant(name);
    char rest[256] = "";
    for (int i = 1, length = 0; i < argc; i++) {
        int space = (int)sizeof(rest) - length,
            size = snprintf(rest + length, (size_t)space, " %s", shell_word(argv[i]));
        if (size < 0 || size >= space) {
            snprintf(rest + length, (size_t)space, space > 4 ? " ..." : "");
            break;
        }
        length += size;
    }
    if (*name == '-')
        error("no option '%s': see 'gputrace --help'", name);
    else if (meant)
        error("no command '%s': did you mean 'gputrace %s%s'?", name, meant, rest);
    else if (is_trace(name))
        error("no command '%s': did you mean 'gputrace report %s%s'?", name, shell_word(name), rest);
    else
        error("no command '%s': use 'gputrace run %s%s' to trace a program, 'gputrace --help' for the commands", name,
              shell_word(name), rest);
    return EXIT_USAGE;
}

static int print_usage(FILE *out)
{
    fputs("usage: gputrace COMMAND [options] ...\n\nTraces CUDA programs without changing them.\n\ncommands:\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("  help       Explains a command: gputrace help COMMAND\n\noptions:\n"
          "  -h, --help     print this help\n"
          "  -V, --version  print the version\n\nSee gputrace(1).\n",
          out);
    return EXIT_SUCCESS;
}

static int help(int argc, char **argv)
{
    if (argc < 2)
        return print_usage(stdout);
    const struct command *command = find_command(argv[1]);
    if (!command)
        return unknown_command(1, argv + 1);
    options_help(command, stdout);
    return EXIT_SUCCESS;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_usage(stdout);
    if (strcmp(name, "help") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(name, "complete") == 0) {
        complete_words(commands, COMMAND_COUNT, argc - 2, argv + 2);
        return EXIT_SUCCESS;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("gputrace " GPUTRACE_PACKAGE_VERSION);
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(name);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(argc - 1, argv + 1);
}

/* --- the stack of a command --- */

#define STACK_BYTES ((size_t)8 << 20) /* the usual limit */
#define GUARD_BYTES ((size_t)64 << 10)

static struct {
    int (*call)(int argc, char **argv);
    int argc, status;
    char **argv;
} called; /* arguments of call(), because makecontext() can pass integers only */

static void call(void)
{
    called.status = called.call(called.argc, called.argv);
}

/* Returns CALL(ARGC, ARGV). If the limit of stacks is below 8 MiB, CALL and the threads that it starts get stacks of
 * 8 MiB. The limit itself is not changed, because programs that are started inherit it. */
static int call_with_stack(int (*function)(int argc, char **argv), int argc, char **argv)
{
    static ucontext_t before, own;
    struct rlimit limit;
    pthread_attr_t threads;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_BYTES)
        return function(argc, argv);
    if (pthread_attr_init(&threads) == 0 && pthread_attr_setstacksize(&threads, STACK_BYTES) == 0)
        pthread_setattr_default_np(&threads);
    char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&own) != 0)
        return function(argc, argv);
    mprotect(stack, GUARD_BYTES, PROT_NONE);
    called.call = function;
    called.argc = argc;
    called.argv = argv;
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = STACK_BYTES;
    own.uc_link = &before;
    makecontext(&own, call, 0);
    return swapcontext(&before, &own) == 0 ? called.status : function(argc, argv);
}

int main(int argc, char **argv)
{
    /* Opens /dev/null for standard descriptors that are closed. Otherwise the next file, such as a trace, would get the
     * descriptor, and our messages would be written to it. /dev/null is opened for the wrong direction, so that its use
     * still fails, and the traced program gets the descriptor closed as before. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
            _exit(EXIT_USAGE);
    int status = call_with_stack(dispatch, argc, argv);
    end_at_fault(NULL, NULL, status);
    /* Fail if output could not be written, as on a full disk or a closed stdout. */
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
        return status ? status : EXIT_USAGE;
    }
    return status;
}
