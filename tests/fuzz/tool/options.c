/*
 * Command lines: the first byte chooses the command, the words are parted by NUL bytes. Nothing is run.
 */
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <sanitizer/lsan_interface.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/trace_files.h"
#include "cli/run_options.h"

#define WORDS_MAX 64

/* Space for the settings of any command. */
static union {
    struct run_options run;
    max_align_t any[4096];
} settings;

static int split(char *text, size_t size, char **words)
{
    int count = 0;
    words[count++] = (char *)(uintptr_t)"command";
    for (char *word = text; word < text + size && count < WORDS_MAX; word += strlen(word) + 1)
        words[count++] = word;
    words[count] = NULL;
    return count;
}

static void see_run(int first)
{
    char name[PATH_MAX];
    const struct output_facts facts = {.pid = getpid(), .program = "program"};
    if (first == OPTIONS_ERROR || first == OPTIONS_HELP)
        return;
    FUZZ_HOLDS(output_name_expand(settings.run.output, &facts, name, sizeof(name)) == 0);
    FUZZ_HOLDS(settings.run.settings.flush_interval_ms >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct command *const commands[] = {&command_run, &command_report, &command_doctor, &command_recover,
                                                     &command_convert};
    char *words[WORDS_MAX + 1];
    struct fuzz_bytes bytes = {data, size};
    const struct command *command = commands[fuzz_number(&bytes, 1) % (sizeof(commands) / sizeof(*commands))];
    char *text = malloc(bytes.left + 1);
    if (!text)
        abort();
    size = bytes.left;
    fuzz_take(&bytes, text, size);
    text[size] = '\0';
    int count = split(text, size, words);
    memset(&settings, 0, sizeof(settings));
    if (command == &command_run)
        run_options_init(&settings.run);
    __lsan_disable(); /* a list of plugins lives as long as the command */
    int first = options_parse(command, &settings, count, words, command == &command_run);
    __lsan_enable();
    FUZZ_HOLDS(first == OPTIONS_ERROR || first == OPTIONS_HELP || (first >= 1 && first <= count));
    if (command == &command_run)
        see_run(first);
    free(text);
    return 0;
}
