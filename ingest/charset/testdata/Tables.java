import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/**
 * Writes Java's decoding of every code of a charset as a table: java testdata/Tables.java DIR. A table is, in big-endian numbers: for each
 * byte that is a character alone its char, else 0xfffd; the number of lead bytes; for each of them itself (one byte) and the char of each
 * second byte, else 0xfffd; for GB18030 then the number of ranges of four-byte codes in the BMP, each the first code's number, its char and
 * the length, where the code a b c d has the number (((a-0x81)*10 + b-0x30)*126 + c-0x81)*10 + d-0x30.
 */
public class Tables {
    static final char NONE = '\ufffd';

    static final String[] SINGLE_AND_DOUBLE = {
        "US-ASCII", "ISO-8859-1", "ISO-8859-2", "ISO-8859-3", "ISO-8859-4", "ISO-8859-5", "ISO-8859-6", "ISO-8859-7", "ISO-8859-8",
        "ISO-8859-9", "ISO-8859-13", "ISO-8859-15", "KOI8-R", "windows-1250", "windows-1251", "windows-1252", "windows-1253",
        "windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-1258", "GB2312", "GBK", "GB18030", "Big5",
        "x-windows-950", "Shift_JIS", "windows-31j", "EUC-KR", "x-windows-949"};

    public static void main(String[] args) throws IOException {
        for (String name : SINGLE_AND_DOUBLE) {
            Path file = Path.of(args[0], name.toLowerCase().replace("x-", "") + ".gz");
            try (DataOutputStream out = new DataOutputStream(new GZIPOutputStream(Files.newOutputStream(file)))) {
                write(Charset.forName(name).newDecoder(), name, out);
            }
        }
    }

    static void write(CharsetDecoder decoder, String name, DataOutputStream out) throws IOException {
        decoder.onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT);
        char[] single = new char[256];
        for (int b = 0; b < 256; b++) {
            single[b] = decode(decoder, (byte) b);
            out.writeChar(single[b]);
        }
        List<Integer> leads = new ArrayList<>();
        char[][] rows = new char[256][256];
        for (int lead = 0x80; lead < 256; lead++) {
            boolean any = false;
            for (int b = 0; b < 256; b++) {
                rows[lead][b] = single[lead] == NONE ? decode(decoder, (byte) lead, (byte) b) : NONE;
                any |= rows[lead][b] != NONE;
            }
            if (any) {
                leads.add(lead);
            }
        }
        out.writeShort(leads.size());
        for (int lead : leads) {
            out.writeByte(lead);
            for (int b = 0; b < 256; b++) {
                out.writeChar(rows[lead][b]);
            }
        }
        if (name.equals("GB18030")) {
            ranges(decoder, out);
        }
    }

    static char decode(CharsetDecoder decoder, byte... code) {
        try {
            CharBuffer out = decoder.decode(ByteBuffer.wrap(code));
            if (out.length() != 1) {
                return NONE; // two characters one after the other
            }
            if (out.get(0) == NONE && code.length < 4 || Character.isSurrogate(out.get(0))) {
                throw new IllegalStateException("no table for " + out);
            }
            return out.get(0);
        } catch (CharacterCodingException e) {
            return NONE;
        }
    }

    static void ranges(CharsetDecoder decoder, DataOutputStream out) throws IOException {
        List<int[]> ranges = new ArrayList<>();
        for (int n = 0; n < 126 * 10 * 126 * 10; n++) {
            byte[] code = {(byte) (0x81 + n / 12600), (byte) (0x30 + n / 1260 % 10), (byte) (0x81 + n / 10 % 126), (byte) (0x30 + n % 10)};
            String text;
            try {
                text = decoder.decode(ByteBuffer.wrap(code)).toString();
            } catch (CharacterCodingException e) {
                continue;
            }
            if (text.length() != 1) {
                continue; // beyond the BMP, by a formula
            }
            int[] last = ranges.isEmpty() ? null : ranges.get(ranges.size() - 1);
            if (last != null && last[0] + last[2] == n && last[1] + last[2] == text.charAt(0)) {
                last[2]++;
            } else {
                ranges.add(new int[] {n, text.charAt(0), 1});
            }
        }
        out.writeShort(ranges.size());
        for (int[] r : ranges) {
            out.writeInt(r[0]);
            out.writeChar(r[1]);
            out.writeShort(r[2]);
        }
    }
}
