using System.Globalization;
using System.Security.Cryptography;
using System.Text.Json.Nodes;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry certificate list</c>, <c>renew NAME</c> and <c>test</c>: the certificates of the settings, a renewal by the running
/// server, and whether the authority answers. They read the same settings as the server, and no private key is ever shown.
/// </summary>
internal static class CertificatesCommand
{
    private const int ExitFailed = 1;

    public static bool IsMeant(string[] args) => args is ["certificate", "list" or "renew" or "test", ..];

    public static async Task<int> RunAsync(string[] args, TextWriter output, TextWriter error, HttpMessageHandler? handler = null)
    {
        var name = args is ["certificate", "renew", { } asked, ..] && !asked.StartsWith("--", StringComparison.Ordinal) ? asked : null;
        var isJson = args[1] == "list" && args.Contains(ApiCommandLine.JsonOption, StringComparer.Ordinal);
        var rest = args[(name is null ? 2 : 3)..];
        rest = isJson ? Array.FindAll(rest, static word => word != ApiCommandLine.JsonOption) : rest;
        var mistake = args[1] == "renew" && name is null ? "'certificate renew' needs the name of the certificate after it"
            : Array.Find(rest, static word => !IsSetting(word)) is not { } wrong ? null
            : EntryWords.Unknown(wrong, args[1] == "list" ? [ApiCommandLine.JsonOption] : []);
        if (mistake is not null)
        {
            await error.WriteLineAsync($"tunnel2-entry: {mistake}").ConfigureAwait(false);
            await error.WriteLineAsync(EntryHelp.CertificateUsage).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        SettingsLoadResult loaded;
        try
        {
            loaded = SettingsLoader.Load(SettingsSource.OfProcess(rest).Read());
        }
        catch (Exception exception) when (exception is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        if (!loaded.IsValid)
        {
            await error.WriteAsync(SettingsErrorFormatter.Format(loaded.Errors)).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            return args[1] switch
            {
                "list" => List(loaded.Settings, isJson, output),
                "renew" => Renew(loaded.Settings, name!, output, error),
                _ => await TestAsync(loaded.Settings.Acme, output, error, handler).ConfigureAwait(false),
            };
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return ExitFailed;
        }
    }

    private static bool IsSetting(string arg) =>
        arg.StartsWith("--Tunnel2:", StringComparison.OrdinalIgnoreCase) && arg.Contains('=', StringComparison.Ordinal);

    private static int List(ProxyEntrySettings settings, bool isJson, TextWriter output)
    {
        var found = Find(settings).ToList();
        if (isJson)
        {
            output.WriteLine(new JsonArray([.. found.Select(static one => one.ToJson())]).ToJsonString());
            return 0;
        }

        foreach (var one in found)
        {
            output.WriteLine(one.ToString());
        }

        if (found.Count == 0)
        {
            output.WriteLine("there is no certificate in the settings"
                + (settings.Acme.Directory is { } directory ? $", and {directory.Host} has issued none yet" : ""));
        }

        return 0;
    }

    private static IEnumerable<Found> Find(ProxyEntrySettings settings)
    {
        if (settings.CertificateFolder is { } folder)
        {
            foreach (var (chain, key) in PemPairs.In(folder).Take(CertificateFolder.MaxCertificates))
            {
                yield return Read(chain, () => (File.ReadAllText(chain), File.ReadAllText(key)));
            }
        }

        if (settings.Acme.Directory is { } directory)
        {
            var store = new AcmeStore(settings.StateFolder, directory);
            foreach (var (name, pem) in store.LoadCertificates())
            {
                yield return Read($"{directory.Host}: {name}", () => (pem, pem));
            }

            var failures = new SortedDictionary<string, AcmeFailure>(StringComparer.Ordinal);
            _ = store.LoadState(failures);
            foreach (var (name, failure) in failures)
            {
                yield return new Found($"{directory.Host}: {name}", null, [], failure.Reason) { NextTry = failure.NextTry };
            }
        }

        // Without HTTPS no visitor sees one; the uplink's would serve both.
        var forVisitors = settings.HttpsListen is null ? null : settings.HttpsCertificate;
        foreach (var (use, source) in new[] { ("visitors", forVisitors), ("agents", settings.UplinkCertificate) })
        {
            if (source is not null)
            {
                var certificate = ServerCertificate.Load(source);
                yield return new Found($"{use}, {source.Path}", certificate.NotAfter, [PlainText.Clean(certificate.Subject)], null);
            }
        }
    }

    private static Found Read(string place, Func<(string Chain, string Key)> read)
    {
        try
        {
            var (chain, key) = read();
            var named = NamedCertificate.Load(place, chain, key);
            return new Found(place, named.Certificate.NotAfter, [.. named.Names], null);
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException or IOException
            or UnauthorizedAccessException)
        {
            return new Found(place, null, [], exception.Message.ReplaceLineEndings(" "));
        }
    }

    private static int Renew(ProxyEntrySettings settings, string name, TextWriter output, TextWriter error)
    {
        name = name.ToLowerInvariant();
        if (settings.Acme.Directory is not { } directory)
        {
            error.WriteLine("tunnel2-entry: Tunnel2:Acme:Directory is not set, so no certificate is renewed by the server");
            return ExitFailed;
        }

        var store = new AcmeStore(settings.StateFolder, directory);
        if (!settings.Acme.Names.Contains(name) && !store.LoadCertificates().Any(one => one.Name == name))
        {
            error.WriteLine($"tunnel2-entry: {PlainText.Clean(name, 100)} is neither in Tunnel2:Acme:Names nor has it a certificate");
            return ExitFailed;
        }

        store.AskRenewal(name);
        output.WriteLine($"the running server orders a new certificate for {name} within a minute, and its log reports how that ended");
        return 0;
    }

    private static async Task<int> TestAsync(AcmeSettings settings, TextWriter output, TextWriter error, HttpMessageHandler? handler)
    {
        if (settings.Directory is not { } url)
        {
            await error.WriteLineAsync("tunnel2-entry: Tunnel2:Acme:Directory is not set").ConfigureAwait(false);
            return ExitFailed;
        }

        using var transport = new AcmeTransport(handler ?? AcmeTransport.CreateHandler(settings), TimeProvider.System);
        using var key = AcmeKey.Create();
        var client = new AcmeClient(transport, url, new AcmeAccount(key, null, null), TimeProvider.System);
        try
        {
            var directory = await client.GetDirectoryAsync(CancellationToken.None).ConfigureAwait(false);
            await output.WriteLineAsync(
                $"{url.Host} answers; renewal information: {(directory.RenewalInfo is null ? "no" : "yes")}; "
                + $"a known account: {(directory.IsAccountBound ? "needed" : "not needed")}").ConfigureAwait(false);
            if (directory.IsAccountBound && settings.EabKeyId is null)
            {
                await error.WriteLineAsync("tunnel2-entry: set Tunnel2:Acme:EabKeyId and Tunnel2:Acme:EabKey").ConfigureAwait(false);
                return ExitFailed;
            }

            return 0;
        }
        catch (AcmeException exception)
        {
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return ExitFailed;
        }
    }

    /// <summary>A certificate, or why it cannot be used, or why the last try to get one failed.</summary>
    private sealed record Found(string Place, DateTime? End, IReadOnlyList<string> Names, string? Problem)
    {
        /// <summary>When the server tries again to get it; null: it is there.</summary>
        public DateTimeOffset? NextTry { get; init; }

        public override string ToString() => (End, NextTry) switch
        {
            ({ } end, _) => string.Create(
                CultureInfo.InvariantCulture, $"{end:yyyy-MM-dd}  {DaysTo(end),5} days  {string.Join(", ", Names)}  ({Place})"),
            (_, { } next) => string.Create(
                CultureInfo.InvariantCulture, $"not obtained: {Problem}; next try {next.UtcDateTime:yyyy-MM-dd HH:mm'Z'}  ({Place})"),
            _ => $"cannot be used: {Problem}  ({Place})",
        };

        public JsonObject ToJson()
        {
            var json = new JsonObject { ["place"] = Place, ["names"] = new JsonArray([.. Names.Select(static name => (JsonNode)name)]) };
            if (End is { } end)
            {
                json["end"] = end.ToUniversalTime();
                json["days"] = DaysTo(end);
            }
            else
            {
                json["problem"] = Problem;
            }

            if (NextTry is { } next)
            {
                json["nextTry"] = next.UtcDateTime;
            }

            return json;
        }

        private static int DaysTo(DateTime end) => (int)Math.Floor((end - DateTime.UtcNow).TotalDays);
    }
}
