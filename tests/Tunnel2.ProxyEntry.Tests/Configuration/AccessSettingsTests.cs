using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class AccessSettingsTests
{
    private static readonly string _agent = "Agents:a:TokenHash=" + SettingsFixture.HashSetting("t");
    private static readonly string _hash = PasswordHash.Create("secret", PasswordHash.LeastIterations).ToText();

    [Fact]
    public void The_rules_of_an_agent_are_read()
    {
        var access = Load(
            $"Agents:a:BasicAuth=alice:{_hash},bob:{_hash}", "Agents:a:AllowIp=10.0.0.0/8, ::1", "Agents:a:DenyIp=10.1.0.0/16")!;
        Assert.Equal(["alice", "bob"], access.Users.Select(static user => user.Name));
        Assert.Equal(["10.0.0.0/8", "::1/128"], access.Allowed.Select(static network => network.ToString()));
        Assert.Equal(["10.1.0.0/16"], access.Denied.Select(static network => network.ToString()));
    }

    [Theory]
    [InlineData("Names", "")]
    [InlineData("Names", " , ")]
    [InlineData("Tier", " ")]
    [InlineData("Sessions", "")]
    [InlineData("BasicAuth", "")]
    [InlineData("AllowIp", "")]
    [InlineData("AllowIp", ",")]
    [InlineData("DenyIp", "")]
    [InlineData("Policy", "")]
    [InlineData("VerifyWebhook", "")]
    [InlineData("WebhookSecretFile", "")]
    [InlineData("JwtIssuer", "")]
    [InlineData("JwtAudience", "")]
    [InlineData("Oidc", "")]
    [InlineData("ClientCa", "")]
    public void A_rule_of_an_agent_that_came_out_empty_is_a_mistake_and_does_not_open_its_tunnels(string key, string value)
    {
        var error = Assert.Single(SettingsFixture.Load(_agent, $"Agents:a:{key}={value}").Errors);
        Assert.Equal($"Tunnel2:Agents:a:{key}", error.Key);
        Assert.StartsWith("is empty", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Names_below_the_servers_own_domain_are_mistakes_all_of_them_at_once()
    {
        var errors = SettingsFixture.Load(
            _agent,
            "Domain=tunnel.example.com",
            "Agents:a:Names=app.tunnel.example.com, *.Tunnel.example.com, a.b.tunnel.example.com, tunnel.example.com, web, app.example.com",
            "Agents:b:TokenHash=" + SettingsFixture.HashSetting("u"),
            "Agents:b:Names=*.example.com,xtunnel.example.com,api.tunnel.example.com").Errors;
        Assert.Equal(
            [
                ("Tunnel2:Agents:a:Names", "has \"app.tunnel.example.com\", which no agent can claim: below the server's own domain it is "
                    + "a name; write 'app'."),
                ("Tunnel2:Agents:a:Names", "has \"*.tunnel.example.com\", which no agent can claim: below the server's own domain it is "
                    + "a name; write '*'."),
                ("Tunnel2:Agents:a:Names", "has \"a.b.tunnel.example.com\", which no agent can claim: names below the server's own domain "
                    + "have no dot."),
                ("Tunnel2:Agents:a:Names", "has \"tunnel.example.com\", which is the server's own domain and no agent's."),
                ("Tunnel2:Agents:b:Names", "has \"api.tunnel.example.com\", which no agent can claim: below the server's own domain it is "
                    + "a name; write 'api'."),
            ],
            errors.Select(static error => (error.Key, error.Message)));
    }

    [Fact]
    public void The_tokens_of_an_agents_visitors_are_read()
    {
        var tokens = Load("Agents:a:JwtIssuer=https://id.example/ https://id.example/keys", "Agents:a:JwtAudience=web")!.Tokens!;
        Assert.Equal(("https://id.example/", "web"), (tokens.Issuer.Name, tokens.Audience));
        Assert.Equal("https://id.example/keys", tokens.Issuer.Keys!.AbsoluteUri);
        Assert.False(Load("Agents:a:JwtIssuer=https://id.example", "Agents:a:JwtAudience=web")!.IsSameAs(
            Load("Agents:a:JwtIssuer=https://id.example", "Agents:a:JwtAudience=other")));
    }

    [Fact]
    public void Agents_may_name_the_issuers_of_a_list_and_no_other()
    {
        var table = SettingsFixture.LoadValid("Access:JwtIssuers=https://a.example, http://localhost:5556/dex http://[::1]/keys").Agents;
        Assert.Null(table.FindIssuer("https://a.example")!.Keys);
        Assert.Equal("http://[::1]/keys", table.FindIssuer("http://localhost:5556/dex")!.Keys!.AbsoluteUri);
        Assert.Null(table.FindIssuer("https://a.example/"));
        Assert.Null(table.FindIssuer("https://A.example"));
        Assert.Null(SettingsFixture.LoadValid().Agents.FindIssuer("https://a.example"));
    }

    [Theory]
    [InlineData("http://id.example", "https URL of an issuer")]
    [InlineData("http://127.0.0.1.example", "https URL of an issuer")]
    [InlineData("https://a:b@id.example", "https URL of an issuer")]
    [InlineData("https://id.example?x", "https URL of an issuer")]
    [InlineData("https://id.example#x", "https URL of an issuer")]
    [InlineData("id.example", "https URL of an issuer")]
    [InlineData("https://id.example http://id.example/keys", "names keys at an address that is not an https URL")]
    [InlineData("https://id.example file:///etc/passwd", "names keys at an address that is not an https URL")]
    [InlineData("https://id.example https://id.example/keys https://x", "https URL of an issuer")]
    [InlineData("https://id.example,https://id.example", "more than once")]
    public void An_issuer_is_an_https_url_or_on_this_machine(string issuers, string words)
    {
        var error = Assert.Single(SettingsFixture.Load("Access:JwtIssuers=" + issuers).Errors);
        Assert.Equal("Tunnel2:Access:JwtIssuers", error.Key);
        Assert.Contains(words, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Without_rules_the_agent_decides() => Assert.Null(Load());

    [Fact]
    public void The_same_rules_are_the_same()
    {
        string[] settings = [$"Agents:a:BasicAuth=alice:{_hash}", "Agents:a:AllowIp=10.0.0.0/8"];
        Assert.True(Load(settings)!.IsSameAs(Load(settings)));
        Assert.False(Load(settings)!.IsSameAs(Load(settings[0])));
        Assert.False(Load(settings)!.IsSameAs(null));
    }

    [Theory]
    [InlineData("AllowIp=10.0.0.1/8", "Tunnel2:Agents:a:AllowIp", "did you mean 10.0.0.0/8")]
    [InlineData("DenyIp=host", "Tunnel2:Agents:a:DenyIp", "neither an IP address nor a network")]
    [InlineData("DenyIp=010.0.0.1", "Tunnel2:Agents:a:DenyIp", "neither an IP address nor a network")]
    [InlineData("AllowIp=10.0.0.0/8,::/0|DenyIp=10.0.0.0/8", "Tunnel2:Agents:a:DenyIp", "has 10.0.0.0/8, which AllowIp has too")]
    [InlineData("BasicAuth=alice:topsecret", "Tunnel2:Agents:a:BasicAuth", "tunnel2 hash-password")]
    [InlineData("BasicAuth=topsecret", "Tunnel2:Agents:a:BasicAuth", "tunnel2 hash-password")]
    [InlineData("JwtIssuer=https://id.example", "Tunnel2:Agents:a:JwtAudience", "is missing")]
    [InlineData("JwtAudience=web", "Tunnel2:Agents:a:JwtIssuer", "is missing")]
    [InlineData("JwtIssuer=http://id.example|JwtAudience=web", "Tunnel2:Agents:a:JwtIssuer", "https URL")]
    [InlineData("JwtIssuer=https://id.example|JwtAudience=a b", "Tunnel2:Agents:a:JwtAudience", "characters that a URL may have")]
    public void A_mistake_says_what_is_wrong_and_shows_no_password(string settings, string key, string words)
    {
        var error = Assert.Single(
            SettingsFixture.Load([_agent, .. settings.Split('|').Select(static setting => "Agents:a:" + setting)]).Errors);
        Assert.Equal(key, error.Key);
        Assert.Contains(words, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("topsecret", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("[ { \"path\": \"/a\", \"deny\": true } ]", null, null)]
    [InlineData("[ { \"deny\": true }, { \"deny\": true } ]", "Tunnel2:Agents:a:Policy", "row 2 (line 1): no request reaches it")]
    [InlineData("[ { \"country\": \"DE\", \"deny\": true } ]", "Tunnel2:Agents:a:Policy", "Tunnel2:Access:CountryHeader names no header")]
    [InlineData(null, "Tunnel2:Agents:a:Policy", "cannot be read")]
    public void A_policy_is_read_from_its_file(string? text, string? key, string? words)
    {
        var folder = Directory.CreateTempSubdirectory("tunnel2-test-");
        try
        {
            var file = Path.Combine(folder.FullName, "policy.json");
            if (text is not null)
            {
                File.WriteAllText(file, text);
            }

            var (settings, errors) = SettingsFixture.Load([_agent, "Agents:a:Policy=" + file]);
            Assert.Equal(key, errors.Select(static error => error.Key).SingleOrDefault());
            Assert.Contains(words ?? "", errors.Select(static error => error.Message).SingleOrDefault() ?? "", StringComparison.Ordinal);
            Assert.Equal(key is null, settings is not null);
            Assert.Equal(key is null ? 1 : null, settings?.Agents.PoliciesOf(new AgentGrant("a", null, null), "web").Single().Rows.Length);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("/")]
    [InlineData("/below/it")]
    public void A_file_in_the_place_of_the_state_folder_is_said_with_all_other_mistakes(string below)
    {
        var path = Path.GetTempFileName();
        try
        {
            var errors = SettingsFixture.Load(_agent, $"StateFolder={path}{below}", "Uplink:Certificate=/no/such").Errors;
            Assert.Equal(2, errors.Count);
            Assert.Contains($"\"{path}\" is a file, and not a folder.", Assert.Single(
                errors, static error => error.Key == "Tunnel2:StateFolder").Message, StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(path);
        }
    }

    [Theory]
    [InlineData("Agents:a:Policy", "")]
    [InlineData("Agents:a:ClientCa", "")]
    [InlineData("Agents:a:WebhookSecretFile", "Agents:a:VerifyWebhook=github")]
    [InlineData("Uplink:Certificate", "")]
    [InlineData("Uplink:ClientCa", "Uplink:Certificate=self-made")]
    [InlineData("Cluster:Secret", "Cluster:Database=Host=db1")]
    public void A_folder_in_the_place_of_a_file_is_called_one(string key, string other)
    {
        // What makes one is a container whose file is not there to be mounted.
        string[] others = other.Length == 0 ? [] : [other];
        var error = Assert.Single(SettingsFixture.Load([_agent, .. others, $"{key}={Path.GetTempPath()}"]).Errors);
        Assert.Equal("Tunnel2:" + key, error.Key);
        Assert.Contains(" it is a folder, not a file.", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("github", "old-secret\n\nnew-secret\n", null, null)]
    [InlineData("github", "short\n", "Tunnel2:Agents:a:WebhookSecretFile", "1 to 4 lines of 8 to 255 bytes")]
    [InlineData("github", null, "Tunnel2:Agents:a:WebhookSecretFile", "cannot be read")]
    [InlineData("gitub", "old-secret", "Tunnel2:Agents:a:VerifyWebhook", "is not one of github, gitlab")]
    [InlineData(null, "old-secret", "Tunnel2:Agents:a:VerifyWebhook", "belong together")]
    public void Secrets_of_webhooks_are_read_from_their_file(string? provider, string? text, string? key, string? words)
    {
        var folder = Directory.CreateTempSubdirectory("tunnel2-test-");
        try
        {
            var file = Path.Combine(folder.FullName, "secrets");
            if (text is not null)
            {
                File.WriteAllText(file, text);
            }

            string[] verify = provider is null ? [] : ["Agents:a:VerifyWebhook=" + provider];
            var (settings, errors) = SettingsFixture.Load([_agent, .. verify, "Agents:a:WebhookSecretFile=" + file]);
            Assert.Equal(key, errors.Select(static error => error.Key).SingleOrDefault());
            var message = errors.Select(static error => error.Message).SingleOrDefault() ?? "";
            Assert.Contains(words ?? "", message, StringComparison.Ordinal);
            Assert.DoesNotContain("secret\n", message, StringComparison.Ordinal);
            var rule = settings?.Agents.WebhookOf(new AgentGrant("a", null, null));
            Assert.Equal(key is null, rule is { Provider: WebhookProvider.GitHub, Secrets.Count: 2 });
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public void A_country_header_needs_a_trusted_proxy()
    {
        Assert.Equal("Tunnel2:Access:CountryHeader", Assert.Single(SettingsFixture.Load("Access:CountryHeader=CF-IPCountry").Errors).Key);
        Assert.Empty(SettingsFixture.Load("Access:CountryHeader=CF-IPCountry", "TrustedProxies=10.0.0.0/8").Errors);
        Assert.NotEmpty(SettingsFixture.Load("Access:CountryHeader=a b", "TrustedProxies=10.0.0.0/8").Errors);
    }

    [Fact]
    public void A_login_and_a_token_contradict_each_other() => Assert.Contains(
        "contradicts BasicAuth",
        Assert.Single(SettingsFixture.Load(
            _agent, $"Agents:a:BasicAuth=alice:{_hash}", "Agents:a:JwtIssuer=https://id.example",
            "Agents:a:JwtAudience=web").Errors).Message,
        StringComparison.Ordinal);

    [Fact]
    public void A_user_twice_is_a_mistake() => Assert.Contains(
        "the user alice more than once",
        Assert.Single(SettingsFixture.Load(_agent, $"Agents:a:BasicAuth=alice:{_hash},alice:{_hash}").Errors).Message,
        StringComparison.Ordinal);

    private static ForcedAccess? Load(params string[] settings) =>
        SettingsFixture.LoadValid([_agent, .. settings]).Agents.AccessOf(new AgentGrant("a", null, null));
}
