#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tool/cli/options.h"
#include "tool/cli/suggest.h"

/* A command line that cannot be understood, or an output that cannot be written. */
#define EXIT_USAGE 2

static const struct command *const commands[] = {&command_run, &command_report, &command_recover, &command_convert,
                                                 &command_doctor};
#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    struct suggestion nearest = suggestion_for(name, strlen(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        suggestion_consider(&nearest, commands[i]->name);
    if (*name == '-')
        error("no option '%s': see 'gputrace --help'", name);
    else if (nearest.word)
        error("no command '%s': did you mean 'gputrace %s'?", name, nearest.word);
    else
        error("no command '%s': to trace a program, 'gputrace run %s'; for the commands, 'gputrace --help'", name,
              name);
    return EXIT_USAGE;
}

static int print_usage(FILE *out)
{
    fputs("usage: gputrace COMMAND [options] ...\n\nTraces CUDA programs as they are.\n\ncommands:\n", out);
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
        return unknown_command(argv[1]);
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
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("gputrace " GPUTRACE_VERSION);
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(name);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(name);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    /* What was printed but did not arrive is a failure: a full disk, a closed stdout. */
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
        return status ? status : EXIT_USAGE;
    }
    return status;
}
