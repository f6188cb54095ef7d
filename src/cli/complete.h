/*
 * `gputrace complete WORD...`, which the shells' completion files ask (completion.bash, .zsh, .fish).
 */
#ifndef GPUTRACE_CLI_COMPLETE_H
#define GPUTRACE_CLI_COMPLETE_H

#include <stddef.h>

#include "cli/options.h"

/*
 * Prints what the last of the COUNT words behind "gputrace" can become, one on each line, with a tab and a description
 * behind it where there is one. A line that begins with a colon says what the shell completes itself:
 *
 *     :files, :folders, :commands
 *     :program N       the last N words are a command line of another program
 *
 * Bash splits words at "=": where "--option", "=" and "value" are words, the option itself is not printed again.
 */
void complete_words(const struct command *const *commands, size_t command_count, int count, char **words);

#endif
