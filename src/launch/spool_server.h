/*
 * A thread of the launcher that makes spool files for processes that cannot make them themselves, and notes those that
 * are not recorded (common/spool.h).
 */
#ifndef GPUTRACE_LAUNCH_SPOOL_SERVER_H
#define GPUTRACE_LAUNCH_SPOOL_SERVER_H

struct spool_server;

/* Begins to listen for processes whose spools belong into DIRECTORY. NULL with errno set: such a socket
 * cannot be made. */
struct spool_server *spool_server_start(const char *directory);

/* The setting `spool_server` for processes. Valid as long as SERVER. */
const char *spool_server_address(const struct spool_server *server);

/* Ends the thread and frees SERVER. Returns how many processes are not recorded and not noted in the directory.
 * SERVER may be NULL. */
unsigned spool_server_stop(struct spool_server *server);

#endif
