/*
 * The plugins of `--plugin FILE[,key=value…]`: where each lies, as the library is told it.
 */
#ifndef GPUTRACE_CLI_PLUGIN_LIST_H
#define GPUTRACE_CLI_PLUGIN_LIST_H

/*
 * Adds a plugin to *LIST (settings.plugins: "PATH,key=value,…", one on each line; NULL: none yet), which is allocated
 * and replaced here, and never freed.
 *
 * A FILE with a slash is taken as it is. A name without one is looked for, as NAME.so and as NAME, in gputrace/ and
 * samples/plugins/ beside libgputrace.so, where plugins are installed and built, and in this directory.
 * Gives 0, or -1 after error(), which says where it was looked for.
 */
int plugin_list_add(const char **list, const char *value);

#endif
