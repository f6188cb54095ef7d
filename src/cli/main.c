/* The table of commands, `gputrace help`, and what is printed for a word that is not a command. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "common/shell_word.h"
#include "cli/complete.h"
#include "cli/faults.h"
#include "cli/options.h"
#include "trace/sink.h"

static const struct command *const commands[] = {&command_run,  &command_report,  &command_diff,
                                                 &command_view, &command_recover, &command_convert,
                                                 &command_cut,  &command_merge,   &command_doctor};
#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* The words of Nsight Systems, perf and nvprof. */
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

/* ARGV[0] is not a command; what follows it is shown as far as there is space. */
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
        puts("gputrace " GPUTRACE_VERSION);
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(name);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(argc - 1, argv + 1);
}

/* A standard descriptor that is closed would become that of the next file, a trace say, and take our messages. It is
 * opened the wrong way round, so that its use still fails, and is closed again in the program that run starts. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
            _exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    int status = call_with_stack(dispatch, argc, argv);
    end_at_fault(NULL, NULL, status);
    /* Output that could not be written is a failure: a full disk, a closed stdout. */
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
        return status ? status : EXIT_USAGE;
    }
    return status;
}
