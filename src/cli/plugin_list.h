/* Finds the plugins of `--plugin FILE[,key=value…]` and puts their paths into the setting for the agent. */
#ifndef GPUTRACE_CLI_PLUGIN_LIST_H
#define GPUTRACE_CLI_PLUGIN_LIST_H

/*
 * Adds a plugin to *LIST (settings.plugins: "PATH,key=value,…", one on each line; NULL: none yet), which is allocated
 * and replaced here, and never freed.
 *
 * A FILE with a slash is taken as it is. A name without one is searched, as NAME.so and as NAME, in gputrace/ and
 * samples/plugins/ beside libgputrace.so, where plugins are installed and built, and in this directory.
 * Returns 0, or -1 after error(), which lists the places that were searched.
 */
int plugin_list_add(const char **list, const char *value);

#endif
