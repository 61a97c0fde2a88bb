import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Decodes texts. From stdin: a charset's name (a byte of length before it), the number of texts (four bytes), the texts (a byte of length
 * before each), and so on. To stdout each text as UTF-8 behind two bytes of length, or ffff where it is none.
 */
public class Decode {
    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 20))) {
            while (true) {
                byte[] name;
                try {
                    name = new byte[in.readUnsignedByte()];
                } catch (EOFException e) {
                    return;
                }
                in.readFully(name);
                decode(Charset.forName(new String(name, StandardCharsets.US_ASCII)), in, out);
            }
        }
    }

    static void decode(Charset charset, DataInputStream in, DataOutputStream out) throws IOException {
        CharsetDecoder decoder = charset.newDecoder()
            .onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT);
        for (int n = in.readInt(); n > 0; n--) {
            byte[] text = new byte[in.readUnsignedByte()];
            in.readFully(text);
            try {
                // A lone surrogate, which CESU-8 can write, is no text: the encoder reports it.
                ByteBuffer decoded = StandardCharsets.UTF_8.newEncoder().encode(decoder.decode(ByteBuffer.wrap(text)));
                out.writeShort(decoded.remaining());
                out.write(decoded.array(), 0, decoded.remaining());
            } catch (CharacterCodingException e) {
                out.writeShort(0xffff);
            }
        }
    }
}
