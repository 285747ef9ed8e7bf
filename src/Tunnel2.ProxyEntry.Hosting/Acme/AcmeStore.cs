using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// Keeps the account's key, the certificates, and what a restart must not forget, in a folder for each authority. Files are for their owner
/// only and are replaced as a whole. Used by one task at a time.
/// </summary>
internal sealed class AcmeStore
{
    private const string Ending = ".pem";
    private const int LongestFile = 2 * 1024 * 1024;
    private const int MaxFailures = 10_000;
    private const int MaxRenewals = 100;

    private readonly string _folder;
    private readonly string _certificates;
    private readonly string _renewals;
    private readonly string _state;

    /// <summary>Makes the folders.</summary>
    /// <exception cref="IOException">They cannot be made; the message says where and which setting to use instead.</exception>
    public AcmeStore(string stateFolder, Uri directory)
    {
        var id = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(directory.AbsoluteUri)))[..12];
        Id = id;
        _folder = Path.Combine(stateFolder, "acme", $"{directory.Host}-{id}");
        _certificates = Path.Combine(_folder, "certificates");
        _renewals = Path.Combine(_folder, "renew");
        _state = Path.Combine(_folder, "state.json");
        try
        {
            StateFolder.Create(stateFolder);
            StateFolder.Create(_certificates);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new IOException(
                $"Automatic certificates cannot be kept in {stateFolder}: {exception.Message} "
                + "Set Tunnel2:StateFolder to a folder that lasts.",
                exception);
        }
    }

    /// <summary>Names the authority, in 12 digits.</summary>
    public string Id { get; }

    /// <summary>Where all of it is.</summary>
    public string Folder => _folder;

    /// <summary>The key of the account, which is made at the first start.</summary>
    /// <exception cref="IOException">It cannot be read or written.</exception>
    public AcmeKey FindOrCreateKey()
    {
        var path = Path.Combine(_folder, "account.pem");
        try
        {
            if (File.Exists(path))
            {
                OwnerOnlyFile.Narrow(path);
                return AcmeKey.FromPem(File.ReadAllText(path));
            }

            var key = AcmeKey.Create();
            Replace(path, key.ExportPem() + "\n");
            return key;
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            throw new IOException($"The key of the ACME account cannot be used ({path}): {exception.Message}", exception);
        }
    }

    /// <summary>Keeps the key of an account in place of an earlier one.</summary>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    public void SaveKey(string pem) => Replace(Path.Combine(_folder, "account.pem"), pem.TrimEnd() + "\n");

    /// <summary>The certificates that are kept, each with the name that it was ordered for.</summary>
    public IEnumerable<(string Name, string Pem)> LoadCertificates()
    {
        foreach (var file in Directory.EnumerateFiles(_certificates, "*" + Ending).Order(StringComparer.Ordinal))
        {
            string pem;
            try
            {
                OwnerOnlyFile.Narrow(file);
                pem = new FileInfo(file).Length <= LongestFile ? File.ReadAllText(file) : "";
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                continue;
            }

            yield return (NameOf(file), pem);
        }
    }

    /// <summary>Keeps a certificate in place of an earlier one.</summary>
    public void Save(string name, IssuedCertificate certificate) =>
        Save(name, certificate.Pem);

    /// <summary>Keeps a certificate, with its key, in place of an earlier one.</summary>
    public void Save(string name, string pem) => Replace(PathOf(name), pem);

    /// <summary>Removes a certificate.</summary>
    public void Delete(string name) => TryDelete(PathOf(name));

    /// <summary>Reads what a restart must not forget. A file that cannot be read counts as empty.</summary>
    /// <param name="failures">Receives the names without a certificate, and when the next try may be.</param>
    /// <returns>How often the authority was asked.</returns>
    public AcmePace LoadState(IDictionary<string, AcmeFailure> failures)
    {
        var orders = new List<CountedOrder>();
        var pausedUntil = DateTimeOffset.MinValue;
        var serverFailures = 0;
        try
        {
            if (File.Exists(_state) && new FileInfo(_state).Length <= LongestFile)
            {
                using var document = JsonDocument.Parse(File.ReadAllBytes(_state));
                var root = document.RootElement;
                ReadFailures(root, failures);
                ReadOrders(root, orders);
                pausedUntil = MomentOf(AcmeJson.Text(root, "pausedUntil")) ?? pausedUntil;
                serverFailures = NumberOf(root, "serverFailures") ?? 0;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or JsonException
            or InvalidOperationException)
        {
            // The limits begin anew.
        }

        return new AcmePace(orders, pausedUntil, serverFailures);
    }

    /// <summary>Keeps what <see cref="LoadState"/> reads.</summary>
    public void SaveState(IEnumerable<KeyValuePair<string, AcmeFailure>> failures, AcmePace pace) =>
        Replace(_state, AcmeClient.Json(json =>
        {
            json.WriteStartArray("failures"u8);
            foreach (var (name, failure) in failures.Take(MaxFailures))
            {
                json.WriteStartObject();
                json.WriteString("name"u8, name);
                json.WriteNumber("count"u8, failure.Count);
                json.WriteString("nextTry"u8, TextOf(failure.NextTry));
                json.WriteString("reason"u8, failure.Reason);
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteStartArray("orders"u8);
            foreach (var order in pace.Orders)
            {
                json.WriteStringValue(TextOf(order.At));
            }

            json.WriteEndArray();
            json.WriteStartArray("owners"u8);
            foreach (var order in pace.Orders)
            {
                json.WriteStringValue(order.Owner);
            }

            json.WriteEndArray();
            json.WriteString("pausedUntil"u8, TextOf(pace.PausedUntil));
            json.WriteNumber("serverFailures"u8, pace.ServerFailures);
        }) + "\n");

    /// <summary>Asks the process that runs with this folder to renew a name; for another process.</summary>
    public void AskRenewal(string name)
    {
        StateFolder.Create(_renewals);
        Replace(Path.Combine(_renewals, Path.GetFileName(PathOf(name))), "");
    }

    /// <summary>The names that <see cref="AskRenewal"/> has asked for, each once.</summary>
    public IReadOnlyList<string> TakeRenewals()
    {
        try
        {
            return Directory.Exists(_renewals)
                ? [.. Directory.EnumerateFiles(_renewals, "*" + Ending).Take(MaxRenewals).ToList().Where(TryDelete).Select(NameOf)]
                : [];
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Another user made the folder: renewals that are due must not wait for that.
            return [];
        }
    }

    /// <summary>False for a file that another user made: it would ask again and again.</summary>
    private static bool TryDelete(string file)
    {
        try
        {
            File.Delete(file);
            return true;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }

    private static string NameOf(string file)
    {
        var name = Path.GetFileNameWithoutExtension(file);
        return name.StartsWith('_') ? "*" + name[1..] : name;
    }

    private static void ReadFailures(JsonElement root, IDictionary<string, AcmeFailure> failures)
    {
        foreach (var failure in AcmeJson.List(root, "failures", MaxFailures))
        {
            if (AcmeJson.Text(failure, "name") is { } name && MomentOf(AcmeJson.Text(failure, "nextTry")) is { } nextTry
                && NumberOf(failure, "count") is { } count)
            {
                failures[name] = new AcmeFailure(count, nextTry, AcmeJson.Clean(AcmeJson.Text(failure, "reason") ?? ""));
            }
        }
    }

    private static void ReadOrders(JsonElement root, List<CountedOrder> orders)
    {
        // Beside the moments, which a release before this one reads alone.
        var owners = AcmeJson.List(root, "owners", MaxFailures).Select(AcmeJson.Text).ToArray();
        var moments = AcmeJson.List(root, "orders", MaxFailures).Select(AcmeJson.Text).ToArray();
        for (var i = 0; i < moments.Length; i++)
        {
            if (MomentOf(moments[i]) is { } moment)
            {
                orders.Add(new CountedOrder(moment, owners.Length == moments.Length ? CountedOrder.ReadOwner(owners[i]) : null));
            }
        }
    }

    private static int? NumberOf(JsonElement parent, string name) =>
        parent.TryGetProperty(name, out var value) && value.TryGetInt32(out var number) && number >= 0 ? number : null;

    private static string TextOf(DateTimeOffset moment) => moment.ToString("O", CultureInfo.InvariantCulture);

    private static DateTimeOffset? MomentOf(string? text) =>
        DateTimeOffset.TryParse(text, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind, out var moment) ? moment : null;

    private string PathOf(string name) => Path.Combine(_certificates, (name[0] == '*' ? "_" + name[1..] : name) + Ending);

    private static void Replace(string path, string text) => OwnerOnlyFile.Replace(path, Encoding.UTF8.GetBytes(text));
}
