using System.Text.Encodings.Web;
using System.Text.Json;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.Client.Logins;

/// <summary>
/// The server, the trust in it and the token that <c>tunnel2 login</c> has stored for this user of this machine, in a file that only the
/// user can read. Immutable.
/// </summary>
/// <param name="Path">The file.</param>
/// <param name="Server">The server, as after <c>--server</c>.</param>
internal sealed record StoredLogin(string Path, string Server)
{
    private const string FileName = "login.json";
    private const int MostBytes = 64 * 1024;

    private static readonly JsonWriterOptions _form = new() { Indented = true, Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Fingerprints of the server's certificate, as after <c>--server-fingerprint</c>; null: an authority is trusted.</summary>
    public string? Fingerprint { get; init; }

    /// <summary>The file of authorities; null: those of the system.</summary>
    public string? CaFile { get; init; }

    /// <summary>The token; null: the server lets agents in without.</summary>
    public string? Token { get; init; }

    /// <summary>Where the file is; null: the environment names no place.</summary>
    public static string? PathFor(Func<string, string?> environment)
    {
        if (environment("XDG_CONFIG_HOME") is { Length: > 0 } config && System.IO.Path.IsPathRooted(config))
        {
            return System.IO.Path.Combine(config, "tunnel2", FileName);
        }

        if (OperatingSystem.IsWindows())
        {
            return environment("APPDATA") is { Length: > 0 } data ? System.IO.Path.Combine(data, "Tunnel2", FileName) : null;
        }

        return environment("HOME") is { Length: > 0 } home && System.IO.Path.IsPathRooted(home)
            ? System.IO.Path.Combine(home, ".config", "tunnel2", FileName)
            : null;
    }

    /// <summary>Reads what is stored.</summary>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="mistake">Why the file cannot be used, or null. It shows nothing of the file.</param>
    /// <returns>Null: there is none, or it has a mistake.</returns>
    public static StoredLogin? TryRead(Func<string, string?> environment, out string? mistake)
    {
        mistake = null;
        if (PathFor(environment) is not { } path || !File.Exists(path))
        {
            return null;
        }

        try
        {
            OwnerOnlyFile.Narrow(path);
            using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            if (!OwnerOnlyFile.IsTrusted(file.SafeFileHandle))
            {
                mistake = $"{path}: belongs to another user, or is no file; 'tunnel2 login' makes it anew";
                return null;
            }

            byte[] bytes = new byte[MostBytes + 1];
            int length = file.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            if (length <= MostBytes && Parse(path, bytes.AsMemory(0, length)) is { } login)
            {
                return login;
            }
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException)
        {
            // Its message could repeat a part of the file. The second is for texts that are no UTF-8, or have half a character.
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            mistake = $"{path}: cannot be read: {exception.Message.ReplaceLineEndings(" ")}";
            return null;
        }

        mistake = $"{path}: is not what 'tunnel2 login' writes; 'tunnel2 login SERVER' makes it anew, 'tunnel2 logout' removes it";
        return null;
    }

    /// <summary>Writes the file in one step: readers find the old one or the whole new one.</summary>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The user may not write it.</exception>
    public void Write()
    {
        string folder = System.IO.Path.GetDirectoryName(Path)!;
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(folder);
        }
        else
        {
            Directory.CreateDirectory(folder, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }

        string beside = $"{Path}.{Guid.NewGuid():N}";
        try
        {
            using (FileStream file = OwnerOnlyFile.Open(beside, FileMode.CreateNew, FileAccess.Write, FileShare.None))
            {
                using (var json = new Utf8JsonWriter(file, _form))
                {
                    json.WriteStartObject();
                    json.WriteString("server", Server);
                    WriteIfAny(json, "server_fingerprint", Fingerprint);
                    WriteIfAny(json, "server_ca", CaFile);
                    WriteIfAny(json, "token", Token);
                    json.WriteEndObject();
                }

                file.Write("\n"u8);
                file.Flush(flushToDisk: true);
            }

            File.Move(beside, Path, overwrite: true);
        }
        catch
        {
            File.Delete(beside);
            throw;
        }
    }

    /// <summary>Hides the token.</summary>
    public override string ToString() => $"{nameof(StoredLogin)} of {Server}";

    private static void WriteIfAny(Utf8JsonWriter json, string name, string? value)
    {
        if (value is not null)
        {
            json.WriteString(name, value);
        }
    }

    private static StoredLogin? Parse(string path, ReadOnlyMemory<byte> bytes)
    {
        using var json = JsonDocument.Parse(bytes, new JsonDocumentOptions { MaxDepth = 4 });
        JsonElement root = json.RootElement;
        return root.ValueKind == JsonValueKind.Object && Text(root, "server") is { Length: > 0 } server
            ? new StoredLogin(path, server)
            {
                Fingerprint = Text(root, "server_fingerprint"),
                CaFile = Text(root, "server_ca"),
                Token = Text(root, "token"),
            }
            : null;
    }

    private static string? Text(JsonElement root, string name) =>
        root.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.String ? value.GetString() : null;
}
