/* Why a trace has nothing of a program: the command line and the notes of its processes tell the cause. */
#include "cli/run_empty.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/spool.h"
#include "doctor/doctor.h"
#include "launch/program.h"

/* --- another gputrace --- */

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

/* --- programs that start others elsewhere --- */

#define CLEAN "starts programs without the environment variables that load the recorder"
#define CONTAINER "starts programs in a container"
#define HOST "starts programs on other hosts"
#define SERVICE "lets another process start programs"

static const struct {
    const char *word, *option; /* NULL: with any */
    const char *does;
} starters[] = {
    {"env", "-i", CLEAN},
    {"env", "-", CLEAN},
    {"env", "--ignore-environment", CLEAN},
    {"sudo", NULL, CLEAN},
    {"doas", NULL, CLEAN},
    {"setpriv", "--reset-env", CLEAN},
    {"su", "-", CLEAN},
    {"su", "-l", CLEAN},
    {"su", "--login", CLEAN},
    {"runuser", "-", CLEAN},
    {"runuser", "-l", CLEAN},
    {"bwrap", "--clearenv", CLEAN},
    {"docker", NULL, CONTAINER},
    {"podman", NULL, CONTAINER},
    {"nerdctl", NULL, CONTAINER},
    {"apptainer", NULL, CONTAINER},
    {"singularity", NULL, CONTAINER},
    {"enroot", NULL, CONTAINER},
    {"kubectl", NULL, CONTAINER},
    {"ssh", NULL, HOST},
    {"srun", NULL, HOST},
    {"pdsh", NULL, HOST},
    {"systemd-run", NULL, SERVICE},
    {"at", NULL, SERVICE},
};
#define STARTER_COUNT (sizeof(starters) / sizeof(*starters))
#define SEPARATORS " \t\n;&|()'\""

/* The next word of a command line, also of one that is an argument of a shell; *AT moves behind it. */
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

/* Returns the first program of a command line that starts others where they are not recorded; STARTER_COUNT: none. */
static size_t find_starter(char *const *argv)
{
    char word[PATH_MAX], name[64] = "";
    const char *at = NULL;
    while (next_word(&argv, &at, word, sizeof(word))) {
        bool is_option = *word == '-';
        if (!is_option)
            snprintf(name, sizeof(name), "%.63s", program_name(word));
        for (size_t i = 0; i < STARTER_COUNT; i++)
            if (strcmp(name, starters[i].word) == 0 &&
                (starters[i].option ? is_option && strcmp(word, starters[i].option) == 0 : !is_option))
                return i;
    }
    return STARTER_COUNT;
}

static bool warn_of_starter(const char *program, char *const *argv)
{
    size_t i = find_starter(argv);
    if (i == STARTER_COUNT)
        return false;
    const char *option = starters[i].option ? starters[i].option : "", *gap = *option ? " " : "";
    warning("'%s' used neither CUDA nor NVTX, and '%s%s%s' %s, which are not recorded: start gputrace behind it, as in "
            "'%s%s%s ... gputrace run PROGRAM'",
            program, starters[i].word, gap, option, starters[i].does, starters[i].word, gap, option);
    return true;
}

/* --- all reasons --- */

void run_empty_warn(const struct run_program *run, const struct convert_summary *summary)
{
    const char *program = run->argv[0];
    bool empty = summary->processes == 0;
    const char *torch = run->torch ? ", and no process of Python (3.8 or newer) loaded PyTorch" : "";
    char words[512];
    if (has_nested(run->directory))
        warning("'%s' started another gputrace: what that one ran is in its trace and not in this one", program);
    else if (empty && program_is_static(run->path))
        warning("'%s' is statically linked: nothing can be loaded into it, and %s", program,
                summary->cpu ? "the trace has only what --cpu records" : "nothing was recorded");
    else if (empty && run->ranks && summary->losses.unrecorded == 0)
        warning("no process that used CUDA or NVTX was one of the ranks '%s' (--ranks)", run->ranks);
    else if (empty && program_is_for_musl(run->path))
        warning("'%s' is for the C library musl: libgputrace.so, which is for glibc, cannot be loaded into it",
                program);
    else if (empty ? summary->losses.unrecorded > 0 : summary->cuda || !program_has_kernels(run->path))
        return;
    else if (empty && warn_of_starter(program, run->argv))
        return;
    else if (doctor_lacks_cuda(words, sizeof(words)))
        warning("%s, and '%s' %s%s%s: 'gputrace doctor' says what CUDA needs", words, program,
                empty ? "used no NVTX" : "was recorded without it", empty ? torch : "",
                !empty         ? ""
                : summary->cpu ? ", so the trace has only what --cpu records"
                               : ", so the trace is empty");
    else if (empty && !summary->cpu)
        warning("'%s' used neither CUDA nor NVTX%s: the trace is empty", program, torch);
}
