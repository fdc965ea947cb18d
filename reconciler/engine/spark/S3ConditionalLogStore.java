package reconciler;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * How Spark's Delta commits on S3: the file of a version is put where none stands (`If-None-Match`), or not at all.
 *
 * Delta's own store for S3 looks whether the file is there, and then puts it: of two drivers, or of one that was stopped in
 * between and comes back, the second replaces a commit that was made meanwhile. Here S3 itself refuses it, whoever wrote,
 * Spark or not; Delta is told that the version is taken, and does what it does then: it looks at what was committed, and
 * commits after it where that is no conflict.
 *
 * Rules:
 * - A refusal may be the answer to a repeat of a request that was done, its answer lost on the way. A commit is told from
 *   others by its text, which holds an id of its transaction and the names of its files: where that text stands, it is done.
 * - Whatever else fails where nothing stands fails the commit; what S3 does with it later is a matter of who asks again.
 * - What may be replaced (the mark of the last checkpoint) is put as Delta does it, and so is all that is read and listed.
 *
 * Compiled at set-up by the compiler that is part of Spark (`compile`), which knows neither lambdas nor the types of
 * generic results.
 */
public class S3ConditionalLogStore extends S3SingleDriverLogStore {

  public S3ConditionalLogStore(Configuration configuration) {
    super(configuration);
  }

  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration)
      throws IOException {
    if (overwrite.booleanValue()) {
      super.write(path, actions, overwrite, configuration);
      return;
    }
    FileSystem files = path.getFileSystem(configuration);
    if (files.exists(path)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    byte[] text = encoded(actions);
    try {
      put(files, path, text);
    } catch (IOException error) {
      byte[] found = files.exists(path) ? read(files, path) : null;
      if (found == null) {
        throw error;
      }
      if (!Arrays.equals(found, text)) {
        FileAlreadyExistsException taken = new FileAlreadyExistsException(path.toString());
        taken.initCause(error);
        throw taken;
      }
    }
  }

  private static byte[] encoded(Iterator<String> actions) throws IOException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    while (actions.hasNext()) {
      text.write(((String) actions.next()).getBytes(StandardCharsets.UTF_8));
      text.write('\n');
    }
    return text.toByteArray();
  }

  private static void put(FileSystem files, Path path, byte[] text) throws IOException {
    FSDataOutputStreamBuilder builder = files.createFile(path);
    builder.recursive();
    // Not `opt`: a file system that knows no conditions has to refuse, not to forget this one.
    builder.must("fs.option.create.conditional.overwrite", true);
    FSDataOutputStream stream = (FSDataOutputStream) builder.build();
    // Nothing is there before it is closed; what fails before is never put.
    stream.write(text);
    stream.close();
  }

  private static byte[] read(FileSystem files, Path path) throws IOException {
    InputStream stream = files.open(path);
    try {
      return stream.readAllBytes();
    } finally {
      stream.close();
    }
  }
}
