using System.Globalization;
using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoopsStress;

/// <summary>A request whose right answer is known: it begins with the name and the target, and continues with bytes that depend on the
/// request.</summary>
/// <param name="Name">The tunnel's name.</param>
/// <param name="Id">A number that no other request has.</param>
/// <param name="Up">Bytes of the request's body; 0: it has none.</param>
/// <param name="Down">Bytes of the answer after its beginning.</param>
/// <param name="IsChunked">Whether both bodies are chunked.</param>
internal sealed record Question(string Name, long Id, int Up, int Down, bool IsChunked)
{
    private const string DownPrefix = "/down/";

    private static long _lastId;

    public string Host => $"{Name}.localhost";

    public string Target => string.Create(CultureInfo.InvariantCulture, $"{DownPrefix}{Down}/{(IsChunked ? 'c' : 'l')}/{Id}");

    public static Question Draw(Random random, IReadOnlyList<string> names) => new(
        names[random.Next(names.Count)],
        Interlocked.Increment(ref _lastId),
        random.Next(3) == 0 ? Size(random) : 0,
        Size(random),
        random.Next(2) == 0);

    /// <summary>The request's body.</summary>
    public byte[] Body() => Bytes(Id * 31, Up);

    /// <summary>The right answer's body.</summary>
    public byte[] Answer() => Answer(Name, Target, Up);

    /// <summary>The answer that the service of a name gives.</summary>
    public static byte[] Answer(string name, string target, int up)
    {
        var parts = target.Split('/');
        var down = int.Parse(parts[2], CultureInfo.InvariantCulture);
        var id = long.Parse(parts[4], CultureInfo.InvariantCulture);
        return [.. Encoding.ASCII.GetBytes($"{name} {target} {up} "), .. Bytes(id, down)];
    }

    /// <summary>Whether a body that came to a service is that of its request.</summary>
    public static bool IsBody(string target, ReadOnlySpan<byte> body) =>
        body.SequenceEqual(Bytes(long.Parse(target.Split('/')[4], CultureInfo.InvariantCulture) * 31, body.Length));

    private static byte[] Bytes(long id, int count)
    {
        var bytes = new byte[count];
        PatternBytes.Fill(bytes, id * 7919);
        return bytes;
    }

    private static int Size(Random random) => random.Next(10) switch
    {
        < 6 => random.Next(1, 300),
        < 9 => random.Next(300, 20_000),
        _ => random.Next(20_000, 400_000),
    };
}
