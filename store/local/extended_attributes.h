// Extended attributes of open files, the access control list among them.
#pragma once

namespace unshard {

// Gives the file `to` the extended attributes of the file `from`, and takes an access control list
// from it that `from` does not have (a directory's default). What the file system or the kernel
// refuses is left out, and so are attributes that vouch for the bytes of one file alone.
void CopyExtendedAttributes(int from, int to);

}  // namespace unshard
