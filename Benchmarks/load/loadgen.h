// What the parts of the load generator share. What it does is told at the head of loadgen.c.
#pragma once
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// A connection begins with a request of 16 bytes: a letter, seven zeros, and a number in the order of the machine.
//   S n  send n bytes; more such requests may follow, and add up
//   D n  drop what follows, and answer a byte for every n of it
//   E    echo what follows
//   T    the same, each message of 64 bytes with the time of sending it back at its start, in nanoseconds since 1970
//   P n  answer a byte; with n = 1, close then
enum { requestSize = 16, messageSize = 64, block = 8 << 20, ahead = 4, bufferSize = 1 << 20, sendSize = 256 << 10 };

extern unsigned char buffer[bufferSize];  // what is sent in bulk, and where nothing is kept
extern int epoll;

// Each of these ends the process with exit code 1, and the text on standard error.
_Noreturn void fail(const char *format, ...);
_Noreturn void failErrno(const char *what);

uint64_t now(void);  // in nanoseconds
uint64_t nanosecondsSince1970(void);
double ownProcessorSeconds(void);
void giveUpAfter(double seconds);  // nobody waits for ever: a generator that is stuck ends itself

struct sockaddr_in loopback(uint32_t host, int port);
int newSocket(int flags);
int dial(int port);
void dontWait(int fd);
void watch(int operation, int fd, uint32_t events, void *owner);

int sendAll(int fd, const void *bytes, size_t count);  // waits for room if it must: for what is small
int ask(int fd, char letter, uint64_t number);
ssize_t sendSome(int fd, uint64_t left);

// Latencies, each kept as it is: percentiles are exact, however far apart the values are.
struct samples { uint64_t *values; size_t count, room; };
void keep(struct samples *samples, uint64_t nanoseconds);
void printSamples(struct samples *samples);  // as members of an object, in microseconds

// The verbs, each in a file of its own.
_Noreturn void backend(int port);
int bulk(int port, int up, int count, double seconds, uint64_t report);
int meter(int port, double seconds, uint64_t binMilliseconds);
enum ending { byClient, byServer, byReset, mixed };
int connections(int port, int workers, long count, enum ending ending, int addresses);
int rounds(int port, int count, double seconds, uint64_t interval, uint64_t report, int withWay);
int idle(int port, int count);
