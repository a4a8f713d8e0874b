// Which of this process's listeners were handed to it on purpose.
const inodes = new Set<string>();

export function rememberReceived(inode: string): void {
  inodes.add(inode);
}

export function wasReceived(inode: string): boolean {
  return inodes.has(inode);
}
