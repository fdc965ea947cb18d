package reconciler;

import io.delta.storage.HDFSLogStore;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * How Spark's Delta commits on a disk: the file of a version is linked where none stands (`link`), or not at all.
 *
 * Delta's own way on a disk looks whether the file is there, and then renames over it: a driver that was stopped in between
 * and comes back replaces a commit that was made meanwhile. Here the disk itself refuses it, whoever wrote, Spark or not;
 * Delta is told that the version is taken, and does what it does then: it looks at what was committed, and commits after it
 * where that is no conflict.
 *
 * Rules:
 * - What is linked is written whole before, as Delta writes it, beside the target and under a name that Delta passes over.
 * - A refusal may be the answer to a repeat of a request that was done, its answer lost on the way (NFS). A commit is told
 *   from others by being the same file: where that stands, it is done.
 * - Hadoop's checksum of the file stays away, as it does where others than Spark commit: put beside the target after the link,
 *   it could come late, to the commit of a table that was made there since.
 * - A disk that knows no hard links gets no commits: nothing that Java has would keep others' there.
 * - What may be replaced (the mark of the last checkpoint) is put as Delta does it, and so is all that is read and listed.
 *
 * Compiled at set-up by the compiler that is part of Spark (`compile`), which knows neither lambdas nor the types of
 * generic results.
 */
public class LocalConditionalLogStore extends HDFSLogStore {

  public LocalConditionalLogStore(Configuration configuration) {
    super(configuration);
  }

  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration)
      throws IOException {
    if (overwrite.booleanValue()) {
      super.write(path, actions, overwrite, configuration);
      return;
    }
    java.nio.file.Path target = onDisk(path, configuration);
    if (Files.exists(target)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    Path whole = createTempPath(path);
    java.nio.file.Path source = onDisk(whole, configuration);
    try {
      super.write(whole, actions, Boolean.TRUE, configuration);
      link(target, source);
    } finally {
      remove(source);
      remove(source.resolveSibling("." + source.getFileName() + ".crc"));
    }
  }

  private static java.nio.file.Path onDisk(Path path, Configuration configuration) throws IOException {
    return new File(path.getFileSystem(configuration).makeQualified(path).toUri().getPath()).toPath();
  }

  private static void link(java.nio.file.Path target, java.nio.file.Path source) throws IOException {
    try {
      Files.createLink(target, source);
    } catch (FileAlreadyExistsException taken) {
      if (!Files.isSameFile(target, source)) {
        throw taken;
      }
    } catch (IOException error) {
      if (!Files.exists(target) || !Files.isSameFile(target, source)) {
        throw new IOException("a commit needs a hard link, which can't be made: " + error, error);
      }
    } catch (UnsupportedOperationException error) {
      throw new IOException("a commit needs a hard link, which the disk does not know: " + target, error);
    }
  }

  private static void remove(java.nio.file.Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException left) {
      // The commit stands or does not, whatever is left beside it.
    }
  }
}
