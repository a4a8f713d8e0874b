// The descendants of this process, as /proc tells them.
#ifndef SALLYPORT_LAUNCHER_TREE_H
#define SALLYPORT_LAUNCHER_TREE_H

#include <stdint.h>

/* Takes a process out of everything below. Returns 0, or -1 when there is no room. */
int ReleaseProcess(int32_t pid);
int HasReleased(void);

/* The list of the children of this thread, to be asked as often as needed: a descriptor, or a
   negative errno value. ENOENT: a kernel without CONFIG_PROC_CHILDREN, or no /proc. */
long OpenChildren(void);

/* Calls `visit` for each child of this process that is not released, zombies among them. `children`
   is from OpenChildren(), whether that succeeded or not. Returns how many there were, or a negative
   errno value when /proc does not tell. One may be passed over while another ends
   (proc_tid_children(5)): ask again. */
long ForEachChild(int children, void (*visit)(int32_t pid));

/* The number of children that are not released, from all that /proc shows. None is passed over. */
long CountChildren(void);

/* Sends a signal, and SIGCONT so that a stopped process hears it, to every descendant but released
   ones and what is below them; only to our own children where nothing can be opened to find the
   others. Returns how many were reached. A process that ended meanwhile and whose number was given
   to another is not hit. */
int32_t SignalDescendants(int children, int signal);

#endif
