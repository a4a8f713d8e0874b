// The init of a run: starts the program, reaps all that it leaves, and ends all of it when told to.
#ifndef SALLYPORT_LAUNCHER_INIT_H
#define SALLYPORT_LAUNCHER_INIT_H

__attribute__((noreturn)) void BeInit(char* block, int status);

#endif
