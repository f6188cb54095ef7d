/* Quotes words of commands in messages, so that they can be typed into a shell. */
#ifndef GPUTRACE_COMMON_SHELL_WORD_H
#define GPUTRACE_COMMON_SHELL_WORD_H

/* Returns TEXT, quoted where a shell needs it. The text lasts until the fourth call from now on in this thread. */
const char *shell_word(const char *text);

/* The same of the name of a file, which is not taken for an option: "-x.json" becomes "./-x.json". */
const char *shell_file(const char *name);

#endif
