// Lucene as a peer: one joined field, BM25 with k1 1.2 and b 0.75, the same tokens.
//   java -cp LUCENE.jar LuceneSearch.java INDEX_FOLDER < lines
// Lines: "D<tab>asin<tab>tokens" adds a document; "Q<tab>tokens" is a query; an empty line ends a part.
// Answers, one line per query: smallest CPU time in milliseconds, then the asins of the first 150.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.FSDirectory;

public class LuceneSearch {
  static final int TOP = 150;
  static final int WARM = 12;
  static final int TIMED = 5;

  public static void main(String[] arguments) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    FSDirectory folder = FSDirectory.open(Path.of(arguments[0]));
    index(lines, folder);
    List<String> queries = new ArrayList<>();
    for (String line; (line = lines.readLine()) != null && !line.isEmpty(); ) queries.add(line.substring(2));
    IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(folder));
    searcher.setSimilarity(new BM25Similarity(1.2f, 0.75f));
    searcher.setQueryCache(null);
    for (int round = 0; round < WARM; round++) for (String query : queries) search(searcher, query);
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String query : queries) {
      long best = Long.MAX_VALUE;
      List<String> found = List.of();
      for (int round = 0; round < TIMED; round++) {
        long start = clock.getCurrentThreadCpuTime();
        found = search(searcher, query);
        best = Math.min(best, clock.getCurrentThreadCpuTime() - start);
      }
      out.println(best / 1e6 + "\t" + String.join("\t", found));
    }
  }

  static void index(BufferedReader lines, FSDirectory folder) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer());
    config.setSimilarity(new BM25Similarity(1.2f, 0.75f));
    config.setRAMBufferSizeMB(256);
    try (IndexWriter writer = new IndexWriter(folder, config)) {
      for (String line; (line = lines.readLine()) != null && !line.isEmpty(); ) {
        String[] parts = line.split("\t", 3);
        Document document = new Document();
        document.add(new StoredField("asin", parts[1]));
        document.add(new TextField("text", parts[2], Field.Store.NO));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
  }

  static List<String> search(IndexSearcher searcher, String tokens) throws IOException {
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (String token : tokens.split(" ")) {
      query.add(new TermQuery(new Term("text", token)), BooleanClause.Occur.SHOULD);
    }
    StoredFields stored = searcher.storedFields();
    List<String> asins = new ArrayList<>();
    for (ScoreDoc hit : searcher.search(query.build(), TOP).scoreDocs) {
      asins.add(stored.document(hit.doc).get("asin"));
    }
    return asins;
  }
}
